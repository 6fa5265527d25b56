/* SPDX-License-Identifier: MIT */
/*
 * What bubblewrap is told. Where the launcher inside may mount, the same for every plan: bubblewrap
 * makes the namespaces, and the launcher the view. Where it may not, bubblewrap makes the view as
 * well. Only options that bubblewrap has had since 0.6 are used.
 */
#ifndef KODA_PLAN_BWRAP_H
#define KODA_PLAN_BWRAP_H

#include "base/buf.h"
#include "plan/plan.h"

#define KODA_BWRAP_ARGS_MAX ((size_t)16 << 20)

/* Appends the arguments that need no plan, each with its NUL: the namespaces but for the network's,
 * in them the host's tree as it is, and a /proc. Fails: NOMEM. */
KODA_CHECK int koda_bwrap_start(struct koda_buf *out, struct koda_error *err);

/* The plan with KODA_OP_ONLY_INSIDE where it belongs. The texts stay plan's; only
 * ret_divided->lines are to be freed. Fails: NOMEM. */
KODA_CHECK int koda_bwrap_divide(const struct koda_plan *plan, struct koda_plan *ret_divided,
				 struct koda_error *err);

/* Appends the arguments for the view of a divided plan, each with its NUL, without what only the
 * launcher can make. What needs contents is given descriptors, as wire/bwrap.h has them. A link
 * that the plan pins is left alone: bubblewrap cannot hold it, and whoever admits the plan knows. A
 * plan that has no view, as of the backend landlock, is refused. Fails: INVALID, LIMIT, NOMEM. */
KODA_CHECK int koda_bwrap_args(const struct koda_plan *divided, struct koda_buf *out,
			       struct koda_error *err);

/* The same for people: an option and its values on each line. */
KODA_CHECK int koda_bwrap_print(const struct koda_plan *plan, struct koda_buf *out,
				struct koda_error *err);

#endif
