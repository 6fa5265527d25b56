/* SPDX-License-Identifier: MIT */
/*
 * Git's pointers. The .git of a linked worktree or of a submodule is a file that names the git
 * directory ("gitdir: PATH"); the git directory of a worktree names the one it shares (commondir)
 * and the worktree's .git file (gitdir); that of a submodule names its work tree (core.worktree).
 */
#ifndef KODA_RUN_GITLINK_H
#define KODA_RUN_GITLINK_H

#include "base/macros.h"
#include "base/str.h"

/* The directory that a .git, which may be a pointer file or a link, leads to, and the one that a
 * git directory shares. The result is owned by the caller; NULL if it leads to nothing that looks
 * like a git directory. Links on the way are appended, and a pointer file behind one. Fails: DENIED
 * if a directory on the way is closed, SYS, NOMEM. */
KODA_CHECK int koda_gitlink_follow(const char *dot_git, char **ret_dir, struct koda_strv *links,
				   struct koda_error *err);
KODA_CHECK int koda_gitlink_common(const char *git_dir, char **ret_dir, struct koda_strv *links,
				   struct koda_error *err);

#endif
