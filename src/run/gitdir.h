/* SPDX-License-Identifier: MIT */
/* What a git directory looks like. */
#ifndef KODA_RUN_GITDIR_H
#define KODA_RUN_GITDIR_H

#include <stdbool.h>

/* Has dir what git itself looks for? A worktree's has a commondir instead of objects. If not, errno
 * is EACCES where that cannot be told. */
bool koda_gitdir_is(const char *dir);
bool koda_gitdir_is_at(int fd);
bool koda_gitdir_is_worktree(const char *dir);
/* Is there a configuration of a repository in it? Once it is protected that one stays, whatever
 * else is taken away for the time being. If not, errno is EACCES where that cannot be told. */
bool koda_gitdir_is_configured_at(int fd);
/* Does it look enough like a git directory to be made into one? One that is closed may be. */
bool koda_gitdir_resembles(int fd);

#endif
