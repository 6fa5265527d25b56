/* SPDX-License-Identifier: MIT */
/*
 * T-44. Follows hooks and programs of git to the files that they consist of. Those that a command
 * may write are added to git_files of the site, each once. The budget of the survey bounds this.
 */
#ifndef KODA_RUN_PROJECT_GIT_TRAIL_H
#define KODA_RUN_PROJECT_GIT_TRAIL_H

#include "base/macros.h"
#include "base/set.h"

struct koda_error;
struct koda_policy;
struct koda_site;

/* How many names may be added for one work tree, or for the hooks of one git directory. */
#define KODA_GIT_TRAIL_NAMES ((size_t)256)

struct koda_git_trail {
	struct koda_site *site;
	const struct koda_policy *policy;
	const char *home;   /* for "~"; may be NULL */
	const char *source; /* the configuration; errors name it and do not quote it */
	struct koda_set added;
	size_t left; /* how many more may be added; reset for each work tree */
};

/* Each fails: LIMIT if there are too many, DENIED if a directory on the way is closed, SYS, NOMEM.
 */

/* Adds a path, if a command may write it. */
KODA_CHECK int koda_git_trail_note(struct koda_git_trail *trail, const char *path,
				   struct koda_error *err);
/* Adds the target of path and the links on the way. */
KODA_CHECK int koda_git_trail_follow(struct koda_git_trail *trail, const char *path,
				     struct koda_error *err);
/* Follows the hooks in a directory. One that cannot be read is closed to git as well. */
KODA_CHECK int koda_git_trail_hook_links(struct koda_git_trail *trail, const char *path,
					 struct koda_error *err);
/* Adds a hook directory that core.hooksPath names. */
KODA_CHECK int koda_git_trail_hooks(struct koda_git_trail *trail, const char *path,
				    struct koda_error *err);

#endif
