/* SPDX-License-Identifier: MIT */
/*
 * Trees are cloned before the view is built, and each clone needs a descriptor. A plan with
 * thousands of mounts would exceed RLIMIT_NOFILE. A path right below a directory that the plan
 * binds as writable looks there as on the host, so it can be cloned from the view in its turn.
 */
#include "plan/nested.h"

#include "base/error.h"
#include "base/set.h"
#include "plan/path_order.h"
#include "policy/policy.h"

/* Plans with fewer ops are faster with all trees cloned first. */
#define NESTED_FROM 2048

static bool can_wait(const struct koda_op *op)
{
	return (op->kind == KODA_OP_WRITABLE || op->kind == KODA_OP_READONLY ||
		op->kind == KODA_OP_PIN) &&
	       !(op->flags & KODA_OP_LATE);
}

int koda_plan_nested(struct koda_plan *plan, struct koda_error *err)
{
	koda_auto_set struct koda_set writable = KODA_SET_INIT(KODA_LIST_BYTES_MAX);
	int r = KODA_OK;

	for (size_t i = 0; plan->count >= NESTED_FROM && i < plan->count && r == KODA_OK; i++) {
		struct koda_op *op = &plan->lines[i].op;

		if (!can_wait(op))
			continue;
		if (koda_set_find(&writable, koda_plan_path_parent(op->text1)) != KODA_SET_NONE)
			op->flags |= KODA_OP_NESTED;
		if (op->kind == KODA_OP_WRITABLE)
			r = koda_set_add(&writable, op->text1, NULL);
	}
	return r < 0 ? koda_fail_room(err, r, "the list of mounts") : KODA_OK;
}
