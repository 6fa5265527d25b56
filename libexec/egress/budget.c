/* SPDX-License-Identifier: MIT */
#include "budget.h"

static ptrdiff_t counted(size_t size)
{
	return size > KODA_BUDGET_ORDINARY ? (ptrdiff_t)size : 0;
}

bool koda_budget_affords(const struct koda_budget *budget, size_t from, size_t to)
{
	ptrdiff_t more = counted(to) - counted(from);

	for (; more > 0 && budget; budget = budget->whole)
		if (more > budget->left)
			return false;
	return true;
}

void koda_budget_move(struct koda_budget *budget, size_t from, size_t to)
{
	for (; budget; budget = budget->whole)
		budget->left -= counted(to) - counted(from);
}
