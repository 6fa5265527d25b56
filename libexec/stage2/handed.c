/* SPDX-License-Identifier: MIT */
/*
 * T-85. Descriptors that the host hands to the command. Whoever starts the command takes them from
 * the runner, as late as possible, looks at them again, and has nothing of them left afterwards.
 */
#include "stage2.h"

#include "sys.h"
#include "wire/descriptor.h"
#include "wire/report.h"

#include <errno.h>

static struct koda_handed handed;
static int fds[KODA_HANDED_MAX];

/* Those of the plan, and no others. */
static bool is_planned(const struct plan *plan)
{
	struct koda_op op;
	size_t at = 0;
	uint32_t i = 0;

	while (koda_ops_next(plan->bytes, &at, &op))
		if (op.kind == KODA_OP_DESCRIPTOR &&
		    (i == handed.count || op.n1 != (uint64_t)handed.numbers[i++]))
			return false;
	return i == handed.count;
}

static bool has_any(const struct plan *plan)
{
	struct koda_op op;
	size_t at = 0;

	while (koda_ops_next(plan->bytes, &at, &op))
		if (op.kind == KODA_OP_DESCRIPTOR)
			return true;
	return false;
}

void koda_handed_take(const struct plan *plan)
{
	if (!has_any(plan))
		return;
	if (!koda_handed_receive(KODA_STAGE2_STATUS_FD, &handed, fds))
		koda_stage2_fail("take what the host hands over", "", errno);
	if (!is_planned(plan))
		koda_stage2_fail("the host hands over something else", "", 0);
	for (uint32_t i = 0; i < handed.count; i++) {
		const char *refusal = koda_descriptor_refusal(fds[i]);

		if (refusal)
			koda_stage2_fail("a descriptor cannot be handed over", refusal, 0);
	}
	/* Its number may be one of theirs. */
	koda_report_move(KODA_HANDED_LAST + 1);
}

void koda_handed_give(void)
{
	if (!koda_handed_place(&handed, fds))
		koda_stage2_fail("place a descriptor below the limit of open files", "", errno);
}

void koda_handed_drop(void)
{
	for (uint32_t i = 0; i < handed.count; i++)
		(void)close(fds[i]);
	handed.count = 0;
}
