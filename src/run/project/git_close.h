/* SPDX-License-Identifier: MIT */
/*
 * Projects with many repositories. Each protected name in a git directory takes a mount, so beyond
 * a limit git directories are made read-only as a whole.
 */
#ifndef KODA_RUN_PROJECT_GIT_CLOSE_H
#define KODA_RUN_PROJECT_GIT_CLOSE_H

#include "run/project/site.h"

/* More git directories than this are closed as a whole, but for the project's own; more than
 * KODA_SITE_GIT_MAX are refused. A git directory takes up to 45 arguments of bubblewrap. */
#define KODA_SITE_GIT_OPEN       512
#define KODA_SITE_GIT_OPEN_BWRAP 128
#define KODA_SITE_GIT_MAX        40000

/* Returns how many git directories stay open on this site. */
size_t koda_git_close_limit(const struct koda_site *site);

/* If there are more, moves git directories to git_closed and git_files, but for the project's own
 * and those whose protected files have further names. Fails: LIMIT, NOMEM. */
KODA_CHECK int koda_git_close_many(struct koda_site *site, struct koda_error *err);
/* Closes one git directory, unless its protected files have further names. Fails: NOMEM. */
KODA_CHECK int koda_git_close_one(struct koda_site *site, const char *dir, bool *ret_closed,
				  struct koda_error *err);

/* What was seen of a closed git directory (git_looks of struct koda_site), so that it need not be
 * examined again. */
#define KODA_SITE_GIT_FIRM       (1U << 0) /* T-43: git stops at it, as long as nothing changes */
#define KODA_SITE_GIT_PLAIN      (1U << 1) /* T-12: nothing that git obeys in it is a link */
#define KODA_SITE_GIT_OWN_HOOKS  (1U << 2) /* T-44: no hook in it is a link */
#define KODA_SITE_GIT_ONE_CONFIG (1U << 3) /* it has no config.worktree */

#endif
