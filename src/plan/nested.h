/* SPDX-License-Identifier: MIT */
/* Which trees of a large plan are cloned late. */
#ifndef KODA_PLAN_NESTED_H
#define KODA_PLAN_NESTED_H

#include "plan/plan.h"

/* Sets KODA_OP_NESTED, in a plan with many operations, on mounts right below a writable mount of
 * the plan. Fails: LIMIT, NOMEM. */
KODA_CHECK int koda_plan_nested(struct koda_plan *plan, struct koda_error *err);

#endif
