/* SPDX-License-Identifier: MIT */
/*
 * Git's pointers. The .git of a linked worktree or of a submodule is a file that names the git
 * directory ("gitdir: PATH"). The git directory of a worktree names the one it shares (commondir)
 * and the worktree's .git file (gitdir). That of a submodule names its work tree (core.worktree).
 */
#ifndef KODA_RUN_PROJECT_GIT_FILE_H
#define KODA_RUN_PROJECT_GIT_FILE_H

#include "base/macros.h"
#include "base/strv.h"
#include "run/project/site.h"

/* Notes root/.git if it is a pointer file, and protects its target like any git directory. The
 * target is opened for writing if it belongs to this project. Fails: SYS, NOMEM. */
KODA_CHECK int koda_git_file_note(struct koda_site *site, struct koda_error *err);

/* Both return a directory, owned by the caller; NULL if the target does not look like a git
 * directory. They append the links on the way, and a pointer file behind a link. Fail: DENIED if a
 * directory on the way is closed, SYS, NOMEM. */

/* Follows a .git, which may be a directory, a pointer file or a link. */
KODA_CHECK int koda_git_file_follow(const char *dot_git, char **ret_dir, struct koda_strv *links,
				    struct koda_error *err);
/* Follows the commondir of a worktree's git directory. */
KODA_CHECK int koda_git_file_common(const char *git_dir, char **ret_dir, struct koda_strv *links,
				    struct koda_error *err);

#endif
