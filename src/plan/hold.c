/* SPDX-License-Identifier: MIT */
/* T-32. Which placeholder stands for a protected name that does not exist. */
#include "plan/plan.h"

#include "policy/floor.h"
#include "policy/rules.h"

static struct koda_span last_name(struct koda_span path)
{
	struct koda_span above = koda_plan_parent(path);

	return koda_span_skip(path, above.len + (above.len > 1));
}

/* Another run may hide what this one only protects, or the reverse: both must mean the same by it.
 */
const char *koda_plan_neutral(const struct koda_rules *rules, struct koda_span path)
{
	struct koda_verdict write = koda_rules_write(rules, path.ptr, path.len);

	if (write.why != KODA_WHY_GIT)
		return NULL;
	return koda_span_is(last_name(write.rule), "commondir") ? ".\n" : "";
}

/* Does every policy protect it? */
static bool is_always_protected(const struct koda_rules *rules, struct koda_span path)
{
	enum koda_why why = koda_rules_write(rules, path.ptr, path.len).why;

	for (const char *const *name = koda_floor_git_configs; why == KODA_WHY_GIT && *name; name++)
		if (koda_span_is(last_name(path), *name))
			return false;
	return why == KODA_WHY_GIT || why == KODA_WHY_PROJECT_NAME;
}

int koda_plan_hold(struct koda_plan *plan, const struct koda_rules *rules, struct koda_span path,
		   const char *contents, const char *why, struct koda_error *err)
{
	/* The command of another run may change what only this run protects, and with it everything
	 * that is the same inode. */
	struct koda_op op = { .kind = contents ? KODA_OP_HOLD_FILE : KODA_OP_HOLD,
			      .flags = is_always_protected(rules, path) ? 0 : KODA_OP_ALONE,
			      .text1 = path,
			      .text2 = koda_span_of(contents ? contents : "") };

	return koda_plan_add(plan, &op, why, err);
}
