/* SPDX-License-Identifier: MIT */
/*
 * A plan as arguments of bubblewrap. Bubblewrap makes the namespaces and the view; everything else
 * in the plan is done inside, by the launcher. Only options that bubblewrap has had since 0.6 are
 * used.
 */
#ifndef KODA_PLAN_BWRAP_H
#define KODA_PLAN_BWRAP_H

#include "base/buf.h"
#include "plan/plan.h"

#define KODA_BWRAP_ARGS_MAX ((size_t)16 << 20)

/* The plan with KODA_OP_INSIDE and KODA_OP_ONLY_INSIDE where they belong. The texts stay plan's;
 * only ret_divided->lines are to be freed. Fails: NOMEM. */
KODA_CHECK int koda_bwrap_divide(const struct koda_plan *plan, struct koda_plan *ret_divided,
				 struct koda_error *err);

/* Appends the arguments for a divided plan, each with its NUL. all: also what the launcher would
 * make if it could, but never what only it can. What needs contents is given descriptors, as
 * wire/bwrap.h has them. A link that the plan pins is left alone: bubblewrap cannot hold it, and
 * whoever admits the plan knows. A plan that has no view, as of the backend landlock, is refused.
 * Fails: INVALID, LIMIT, NOMEM. */
KODA_CHECK int koda_bwrap_args(const struct koda_plan *divided, bool all, struct koda_buf *out,
			       struct koda_error *err);

/* The fewest arguments, for people: an option and its values on each line. */
KODA_CHECK int koda_bwrap_print(const struct koda_plan *plan, struct koda_buf *out,
				struct koda_error *err);

#endif
