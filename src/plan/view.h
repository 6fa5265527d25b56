/* SPDX-License-Identifier: MIT */
/* T-17. The mount view. */
#ifndef KODA_PLAN_VIEW_H
#define KODA_PLAN_VIEW_H

#include "plan/plan.h"
#include "plan/request.h"

/* Plans every mount of the view. Fails: as fs->look, DENIED, LIMIT, NOMEM. */
KODA_CHECK int koda_plan_view(struct koda_plan *plan, const struct koda_plan_request *request,
			      struct koda_error *err);

#endif
