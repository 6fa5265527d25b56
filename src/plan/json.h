/* SPDX-License-Identifier: MIT */
/* The plan as JSON, see koda-sandbox-plan(1). */
#ifndef KODA_PLAN_JSON_H
#define KODA_PLAN_JSON_H

#include "plan/plan.h"

/* Appends the plan as one JSON object. Fails: LIMIT, NOMEM. */
KODA_CHECK int koda_plan_json(const struct koda_plan *plan, struct koda_buf *out,
			      struct koda_error *err);

#endif
