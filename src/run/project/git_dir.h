/* SPDX-License-Identifier: MIT */
/* Tells what a git directory looks like. */
#ifndef KODA_RUN_PROJECT_GIT_DIR_H
#define KODA_RUN_PROJECT_GIT_DIR_H

#include "base/macros.h"

#include <stdbool.h>
#include <sys/stat.h>

struct koda_error;

/* The answers. A function that cannot tell fails with SYS, and then nothing may run: a git
 * directory that was overlooked would not be protected. */
enum koda_git_dir {
	KODA_GIT_DIR_NO = 0,
	KODA_GIT_DIR_YES,
	KODA_GIT_DIR_CLOSED, /* EACCES: it may be one */
};

/* Tells whether dir has what git itself looks for. The git directory of a worktree has a commondir
 * instead of objects. Fail: SYS. */
KODA_CHECK int koda_git_dir_is(const char *dir, struct koda_error *err);
KODA_CHECK int koda_git_dir_is_at(int fd, struct koda_error *err);
KODA_CHECK int koda_git_dir_is_worktree(const char *dir, struct koda_error *err);
KODA_CHECK int koda_git_dir_is_worktree_at(int fd, struct koda_error *err);
/* Tells whether the configuration of a repository is in it. A command cannot remove that file once
 * it is protected, while it can remove objects or HEAD for a time. Fails: SYS. */
KODA_CHECK int koda_git_dir_is_configured_at(int fd, struct koda_error *err);
/* Tells whether it has some of what a git directory has, so that a command could complete it.
 * Fails: SYS. */
KODA_CHECK int koda_git_dir_resembles(int fd, struct koda_error *err);
/* Tells whether git obeys the .git in the directory dir. git: the lstat() result of that .git. True
 * if it cannot be examined. */
bool koda_git_dir_is_dot_git(int dir, const struct stat *git);

#endif
