/* SPDX-License-Identifier: MIT */
/*
 * T-85. Descriptors that the host passes to the command. The process that starts the command
 * receives them from the runner as late as possible, examines them again, and closes its own
 * afterwards.
 */
#include "command/passed_fds.h"

#include "fail.h"
#include "report.h"
#include "sys.h"
#include "wire/passed_fds.h"
#include "wire/report.h"

#include <errno.h>

static struct koda_passed_fds passed;
static int fds[KODA_PASSED_FDS_MAX];

/* Returns true if exactly the plan's descriptors were received. */
static bool is_planned(const struct plan *plan)
{
	struct koda_op op;
	size_t at = 0;
	uint32_t i = 0;

	while (koda_ops_next(plan->bytes, &at, &op))
		if (op.kind == KODA_OP_DESCRIPTOR &&
		    (i == passed.count || op.n1 != (uint64_t)passed.numbers[i++]))
			return false;
	return i == passed.count;
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

void stage2_passed_fds_take(const struct plan *plan)
{
	if (!has_any(plan))
		return;
	if (!koda_passed_fds_receive(KODA_STAGE2_STATUS_FD, &passed, fds))
		stage2_fail(KODA_LAUNCH_FDS_RECEIVE, "", errno);
	if (!is_planned(plan))
		stage2_fail(KODA_LAUNCH_FDS_OTHERS, "", 0);
	for (uint32_t i = 0; i < passed.count; i++) {
		const char *refusal = koda_passed_fds_refusal(fds[i]);

		if (refusal)
			stage2_fail(KODA_LAUNCH_FDS_REFUSED, refusal, 0);
	}
	/* The number of the status socket may be one of theirs. */
	if (!stage2_report_move(KODA_PASSED_FDS_LAST + 1))
		stage2_fail(KODA_LAUNCH_KEEP_FD, "", errno);
}

void stage2_passed_fds_give(void)
{
	if (!koda_passed_fds_place(&passed, fds))
		stage2_fail(KODA_LAUNCH_FDS_PLACE, "", errno);
}

void stage2_passed_fds_drop(void)
{
	for (uint32_t i = 0; i < passed.count; i++)
		(void)close(fds[i]);
	passed.count = 0;
}
