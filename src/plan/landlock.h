/* SPDX-License-Identifier: MIT */
/* The plan of the backend landlock, for machines without namespaces. */
#ifndef KODA_PLAN_LANDLOCK_H
#define KODA_PLAN_LANDLOCK_H

#include "plan/plan.h"
#include "plan/request.h"

/* Makes the whole plan. Fails: as koda_plan_make; LIMIT if it needs too many Landlock rules. */
KODA_CHECK int koda_plan_landlock(struct koda_plan *plan, const struct koda_plan_request *request,
				  struct koda_error *err);
/* Appends an encoded plan of the seccomp filters alone, which do not depend on the request. Fails:
 * NOMEM. */
KODA_CHECK int koda_plan_landlock_filters(struct koda_buf *out, struct koda_error *err);

#endif
