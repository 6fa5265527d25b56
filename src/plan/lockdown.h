/* SPDX-License-Identifier: MIT */
/* T-28. Lock-down and the command itself. */
#ifndef KODA_PLAN_LOCKDOWN_H
#define KODA_PLAN_LOCKDOWN_H

#include "plan/plan.h"
#include "plan/request.h"

/* Plans Landlock rules, limits, the system-call filter, the self-check and the command. Fails:
 * NOMEM. */
KODA_CHECK int koda_plan_lockdown(struct koda_plan *plan, const struct koda_plan_request *request,
				  struct koda_error *err);
/* Plans the resource limits and the control group. Fails: NOMEM. */
KODA_CHECK int koda_plan_limits(struct koda_plan *plan, const struct koda_plan_request *request,
				struct koda_error *err);
/* Plans the network, the terminal, passed descriptors, working directory, environment and argv.
 * Fails: NOMEM. */
KODA_CHECK int koda_plan_command(struct koda_plan *plan, const struct koda_plan_request *request,
				 struct koda_error *err);

#endif
