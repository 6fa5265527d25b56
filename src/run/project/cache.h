/* SPDX-License-Identifier: MIT */
/* T-24. Package caches below HOME, and the directories where a user's state is kept. */
#ifndef KODA_RUN_PROJECT_CACHE_H
#define KODA_RUN_PROJECT_CACHE_H

#include "run/project/site.h"

/* Notes the package caches below HOME: real directories that the user owns, neither in the project
 * nor around it. Fails: NOMEM. */
KODA_CHECK int koda_cache_note(struct koda_site *site, struct koda_error *err);

/* Each of these returns a directory that need not exist, owned by the caller; NULL if the user has
 * no state directory, or the path would be too long. Fails: NOMEM. */

/* Where the copies of this project's caches are kept; NULL also if there are no caches. */
KODA_CHECK int koda_cache_store(const struct koda_site *site, char **ret_dir,
				struct koda_error *err);
/* The journal of placeholders. */
KODA_CHECK int koda_cache_placeholder_journal(const struct koda_site *site, char **ret_dir,
					      struct koda_error *err);
/* Where directories that serve as placeholders are kept. */
KODA_CHECK int koda_cache_placeholder_store(const struct koda_site *site, char **ret_dir,
					    struct koda_error *err);

#endif
