/* SPDX-License-Identifier: MIT */
/*
 * The arguments of bubblewrap. Where the launcher may mount inside, they do not depend on the plan:
 * bubblewrap makes the namespaces, and the launcher makes the view. Where it may not, bubblewrap
 * makes the view as well. Only options of bubblewrap 0.6 are used.
 */
#ifndef KODA_PLAN_BWRAP_H
#define KODA_PLAN_BWRAP_H

#include "base/buf.h"
#include "plan/plan.h"

#define KODA_BWRAP_ARGS_MAX ((size_t)16 << 20)

/* Appends the arguments that need no plan, each with its NUL: all namespaces except
 * that of the network, the host's tree, and a /proc. Fails: NOMEM. */
KODA_CHECK int koda_bwrap_start(struct koda_buf *out, struct koda_error *err);

/* Copies the plan and sets KODA_OP_ONLY_INSIDE on mounts that bubblewrap must not make. The texts
 * are borrowed from plan; the caller frees ret_divided->lines only. Fails: NOMEM. */
KODA_CHECK int koda_bwrap_divide(const struct koda_plan *plan, struct koda_plan *ret_divided,
				 struct koda_error *err);

/* Appends the arguments for the view of a divided plan, each with its NUL, without
 * those marked KODA_OP_ONLY_INSIDE. Contents of files come by the descriptors of wire/bwrap.h. PIN
 * operations are left out, because bubblewrap follows every link; run/backend/admit.c accounts for
 * that. Refuses a plan of the backend landlock. Fails: INVALID, LIMIT, NOMEM. */
KODA_CHECK int koda_bwrap_args(const struct koda_plan *divided, struct koda_buf *out,
			       struct koda_error *err);

/* Appends the arguments for people: one option and its values per line. Fails: as koda_bwrap_args.
 */
KODA_CHECK int koda_bwrap_print(const struct koda_plan *plan, struct koda_buf *out,
				struct koda_error *err);

#endif
