/* SPDX-License-Identifier: MIT */
#include "run/stream/grants.h"

#include "base/error.h"
#include "plan/landlock_rights.h"
#include "plan/path_order.h"

#define RIGHT_MAKE_REG (1ULL << 8)

int koda_grants_take(struct koda_grants *grants, const struct koda_plan *plan,
		     struct koda_error *err)
{
	int r = KODA_OK;

	for (size_t i = 0; i < plan->count && r == KODA_OK; i++) {
		const struct koda_op *op = &plan->lines[i].op;

		if (op->kind != KODA_OP_LANDLOCK || !(op->flags & KODA_OP_EXACT))
			continue;
		if (op->n1 & RIGHT_MAKE_REG)
			r = koda_set_add(&grants->trees, op->text1, NULL);
		else if (op->n1 & RIGHT_WRITE_FILE)
			r = koda_set_add(&grants->files, op->text1, NULL);
	}
	return r < 0 ? koda_fail_room(err, r, "the list of grants") : KODA_OK;
}

void koda_grants_clear(struct koda_grants *grants)
{
	koda_set_clear(&grants->trees);
	koda_set_clear(&grants->files);
}

bool koda_grants_refuse(const struct koda_grants *grants, const char *path, bool moves)
{
	struct koda_span at = koda_span_of(path);

	if (grants->trees.count + grants->files.count == 0)
		return false;
	if (!moves && koda_set_find(&grants->files, at) != KODA_SET_NONE)
		return false;
	/* A tree's own name belongs to its parent. */
	while (at.len > 1) {
		if (!(moves && at.len == strlen(path)) &&
		    koda_set_find(&grants->trees, at) != KODA_SET_NONE)
			return false;
		at = koda_plan_path_parent(at);
	}
	return true;
}
