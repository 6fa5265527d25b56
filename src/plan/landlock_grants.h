/* SPDX-License-Identifier: MIT */
/* T-36. The Landlock rules of the backend landlock. */
#ifndef KODA_PLAN_LANDLOCK_GRANTS_H
#define KODA_PLAN_LANDLOCK_GRANTS_H

#include "plan/plan.h"
#include "plan/request.h"

/* Plans Landlock rules for what the policy allows, and the self-check of what it hides. Fails: as
 * fs->look, LIMIT if that takes too many rules, NOMEM. */
KODA_CHECK int koda_plan_landlock_grants(struct koda_plan *plan,
					 const struct koda_plan_request *request,
					 struct koda_error *err);

#endif
