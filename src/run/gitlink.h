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

#include <stdbool.h>

/* Has dir what git itself looks for? A worktree's has a commondir instead of objects. */
bool koda_gitlink_is_dir(const char *dir);
bool koda_gitlink_is_dir_at(int fd);
bool koda_gitlink_is_worktree(const char *dir);
/* Is there a configuration of a repository in it? Once it is protected that one stays, whatever
 * else is taken away for the time being. */
bool koda_gitlink_is_configured_at(int fd);
/* Does it look enough like a git directory to be made into one? */
bool koda_gitlink_resembles(int fd);

/* The directory that a .git, which may be a pointer file or a link, leads to, and the one that a
 * git directory shares. The result is owned by the caller; NULL if it leads to nothing that looks
 * like a git directory. Links on the way are appended. Fails: SYS, NOMEM. */
KODA_CHECK int koda_gitlink_follow(const char *dot_git, char **ret_dir, struct koda_strv *links,
				   struct koda_error *err);
KODA_CHECK int koda_gitlink_common(const char *git_dir, char **ret_dir, struct koda_strv *links,
				   struct koda_error *err);

#endif
