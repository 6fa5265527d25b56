/* SPDX-License-Identifier: MIT */
/* What a git directory looks like. */
#ifndef KODA_RUN_GITDIR_H
#define KODA_RUN_GITDIR_H

#include "base/macros.h"

struct koda_error;

/* What these answer. If anything else keeps them from telling they fail, and nothing may run: what
 * was overlooked would not be protected. */
enum koda_gitdir {
	KODA_GITDIR_NO = 0,
	KODA_GITDIR_YES,
	KODA_GITDIR_CLOSED, /* it may not be looked into, and may be one */
};

/* Has dir what git itself looks for? A worktree's has a commondir instead of objects. Fail: SYS. */
KODA_CHECK int koda_gitdir_is(const char *dir, struct koda_error *err);
KODA_CHECK int koda_gitdir_is_at(int fd, struct koda_error *err);
KODA_CHECK int koda_gitdir_is_worktree(const char *dir, struct koda_error *err);
KODA_CHECK int koda_gitdir_is_worktree_at(int fd, struct koda_error *err);
/* Is there a configuration of a repository in it? Once it is protected that one stays, whatever
 * else is taken away for the time being. Fails: SYS. */
KODA_CHECK int koda_gitdir_is_configured_at(int fd, struct koda_error *err);
/* Does it look enough like a git directory to be made into one? Fails: SYS. */
KODA_CHECK int koda_gitdir_resembles(int fd, struct koda_error *err);

#endif
