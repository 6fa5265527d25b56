/* SPDX-License-Identifier: MIT */
#include "io/budget.h"

size_t egress_budget_share(size_t all, size_t used, size_t most)
{
	/* Up to so many eighths of all in use, one tenant may have this part of all. */
	static const struct {
		size_t eighths;
		size_t part; /* 1/part */
	} steps[] = { { 4, 1 }, { 6, 32 }, { 7, 512 }, { 8, 8192 } };

	for (size_t i = 0; i < KODA_ARRAY_LEN(steps); i++) {
		size_t share = all / steps[i].part;

		if (used >= all / 8 * steps[i].eighths + all % 8 * steps[i].eighths / 8)
			continue;
		if (share == 0)
			share = 1;
		return share < most ? share : most;
	}
	return 0;
}

static ptrdiff_t counted(size_t size)
{
	return size > EGRESS_BUDGET_ORDINARY ? (ptrdiff_t)size : 0;
}

bool egress_budget_affords(const struct egress_budget *budget, size_t from, size_t to)
{
	ptrdiff_t more = counted(to) - counted(from);
	const struct egress_budget *whole = budget ? budget->whole : NULL;
	size_t share;

	if (!budget || more <= 0)
		return true;
	share = whole ? egress_budget_share(whole->most, whole->used + (size_t)more - 1,
					    budget->most)
		      : budget->most;
	return budget->used + (size_t)more <= share;
}

void egress_budget_move(struct egress_budget *budget, size_t from, size_t to)
{
	for (; budget; budget = budget->whole)
		budget->used += (size_t)(counted(to) - counted(from));
}
