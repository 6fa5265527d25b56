/* SPDX-License-Identifier: MIT */
/* T-32. Placeholders for protected and hidden names that do not exist. */
#ifndef KODA_PLAN_PLACEHOLDER_H
#define KODA_PLAN_PLACEHOLDER_H

#include "base/set.h"
#include "plan/plan.h"
#include "plan/request.h"

/* Returns the contents of the placeholder file at path, which make git behave as if path did not
 * exist. NULL for a path outside a git directory: its placeholder is a directory. */
const char *koda_plan_placeholder_contents(const struct koda_rules *rules, struct koda_span path);
/* Plans a placeholder at path; contents: of a file, NULL for a directory. Fails: NOMEM. */
KODA_CHECK int koda_plan_placeholder(struct koda_plan *plan, const struct koda_rules *rules,
				     struct koda_span path, const char *contents, const char *why,
				     struct koda_error *err);
/* Plans the journal and the store, if the plan has placeholders that need them. Fails: NOMEM. */
KODA_CHECK int koda_plan_placeholder_stores(struct koda_plan *plan,
					    const struct koda_plan_request *request,
					    struct koda_error *err);

/* Masks a placeholder: the one at path, or at the topmost missing directory above path. mounted:
 * paths that have a mount already. Fails: NOMEM. */
KODA_CHECK int koda_plan_placeholder_hide(struct koda_plan *plan, struct koda_set *mounted,
					  struct koda_span placeholder, struct koda_span path,
					  const char *why, struct koda_error *err);
/* Plans a masked placeholder for a hidden path that does not exist, because the host may create it
 * while the command runs. Plans nothing where the user cannot create it. mounted: paths that have a
 * mount already. Fails: as fs->look, NOMEM. */
KODA_CHECK int koda_plan_placeholder_hidden(struct koda_plan *plan,
					    const struct koda_plan_request *request,
					    struct koda_set *mounted, struct koda_span path,
					    const char *why, struct koda_error *err);

#endif
