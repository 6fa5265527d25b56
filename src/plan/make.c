/* SPDX-License-Identifier: MIT */
#include "plan/make.h"

#include "plan/landlock.h"
#include "plan/lockdown.h"
#include "plan/nested.h"
#include "plan/placeholder.h"
#include "plan/view.h"

int koda_plan_make(struct koda_plan *plan, const struct koda_plan_request *request,
		   struct koda_error *err)
{
	int r;

	if (request->scratch)
		return koda_plan_landlock(plan, request, err);
	r = koda_plan_view(plan, request, err);
	if (r == KODA_OK)
		r = koda_plan_placeholder_stores(plan, request, err);
	if (r == KODA_OK)
		r = koda_plan_nested(plan, err);
	return r < 0 ? r : koda_plan_lockdown(plan, request, err);
}
