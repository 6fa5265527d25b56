/* SPDX-License-Identifier: MIT */
/* Makes a plan out of a request. Changes nothing on the machine. */
#ifndef KODA_PLAN_MAKE_H
#define KODA_PLAN_MAKE_H

#include "plan/plan.h"
#include "plan/request.h"

/* Fills plan, which must be KODA_PLAN_INIT. Fails: as fs->look, DENIED, LIMIT, NOMEM. */
KODA_CHECK int koda_plan_make(struct koda_plan *plan, const struct koda_plan_request *request,
			      struct koda_error *err);

#endif
