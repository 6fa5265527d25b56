/* SPDX-License-Identifier: MIT */
/*
 * The native backend: our own launcher makes the namespaces and the view. It is started before the
 * plan is made and creates the namespaces meanwhile; both take about as long.
 */
#include "run/backend.h"

#include "base/diag.h"
#include "base/fd.h"
#include "wire/report.h"

#include <errno.h>
#include <sys/socket.h>

#define LAUNCHER "koda-sandbox-stage2"

static void judge(struct koda_findings *ret_findings)
{
	for (size_t i = 0; i < KODA_CLAUSE_COUNT; i++)
		ret_findings->of[i] = (struct koda_finding){ KODA_GRIP_ENFORCED, "", "" };
}

static int prepare(struct koda_launcher *launcher, struct koda_error *err)
{
	static char name[] = LAUNCHER;
	char *const argv[] = { name, NULL };
	char *const envp[] = { NULL };
	const struct koda_ends *ends = &launcher->ends;
	int r = koda_fd_memory("koda-plan", &launcher->plan_fd, err);
	const struct koda_fdmap give[] = {
		{ ends->stream[0][1], 0 },
		{ ends->stream[1][1], 1 },
		{ ends->stream[2][1], 2 },
		{ launcher->plan_fd, KODA_STAGE2_PLAN_FD },
		{ ends->status[1], KODA_STAGE2_STATUS_FD },
		{ ends->life[1], KODA_STAGE2_LIFE_FD },
	};

	if (r == KODA_OK)
		r = koda_proc_spawn(&launcher->proc, KODA_HELPER_DIR "/" LAUNCHER, argv, envp, give,
				    KODA_ARRAY_LEN(give), err);
	koda_ends_close_theirs(&launcher->ends);
	return r;
}

static int launch(struct koda_launcher *launcher, const struct koda_plan *plan,
		  struct koda_error *err)
{
	koda_auto_buf struct koda_buf bytes = KODA_BUF_INIT(KODA_OP_PLAN_MAX);
	const unsigned char message = KODA_LIFE_PLAN;
	int r = koda_plan_encode(plan, &bytes, err);

	if (r == KODA_OK)
		r = koda_fd_seal(launcher->plan_fd, bytes.ptr, bytes.len, err);
	koda_fd_close(&launcher->plan_fd);
	/* If it is gone already, its report says why. */
	if (r == KODA_OK && send(launcher->ends.life[0], &message, 1, MSG_NOSIGNAL) < 0 &&
	    errno != EPIPE && errno != ECONNRESET)
		r = koda_fail(err, KODA_E_SYS, errno, "cannot hand the plan over");
	return r;
}

const struct koda_backend koda_backend_native = { "native", judge, prepare, launch };
