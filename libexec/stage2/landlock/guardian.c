/* SPDX-License-Identifier: MIT */
/*
 * T-38. The guardian of the landlock backend. Nothing ends with init, because there is no pid
 * namespace: the guardian ends the process tree itself, even if init is gone.
 */
#include "landlock/guardian.h"

#include "fail.h"
#include "guardian/await.h"
#include "guardian/cgroup.h"
#include "guardian/lifeline.h"
#include "guardian/sweep.h"
#include "init/orders.h"
#include "landlock/init.h"
#include "landlock/proctree.h"
#include "landlock/scratch.h"
#include "plan.h"
#include "sys.h"
#include "wire/report.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

/* Fails if the plan has ops that only a mount view can enforce. */
static void check_plan(const struct plan *plan)
{
	struct koda_op op;
	size_t at = 0;

	while (koda_ops_next(plan->bytes, &at, &op)) {
		enum koda_op_stage stage = koda_op_stage(op.kind);

		/* The guardian makes files in the scratch directory itself. */
		if (stage == KODA_STAGE_RESERVE ||
		    (stage == KODA_STAGE_VIEW && op.kind != KODA_OP_FILE))
			stage2_fail(KODA_LAUNCH_PLAN_BACKEND, op.text1.ptr, 0);
	}
}

static pid_t start_init(int *ret_pidfd, int *ret_init_pipe)
{
	int init_pipe[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, init_pipe) < 0)
		stage2_fail(KODA_LAUNCH_INIT_SOCKET, "", errno);
	pid = fork();
	if (pid < 0)
		stage2_fail(KODA_LAUNCH_INIT_START, "", errno);
	if (pid == 0) {
		(void)close(init_pipe[1]);
		(void)close(KODA_STAGE2_LIFE_FD);
		stage2_landlock_init(init_pipe[0]);
	}
	stage2_await_started(pid);
	(void)close(init_pipe[0]);
	(void)close(KODA_STAGE2_FILTERS_FD);
	*ret_init_pipe = init_pipe[1];
	*ret_pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (*ret_pidfd < 0)
		stage2_fail(KODA_LAUNCH_INIT_PIDFD, "", errno);
	return pid;
}

/* Reads the command's pid. The process exists since before there was a plan, so init could not
 * start it in the control group. */
static pid_t receive_command_pid(int init_pipe)
{
	pid_t pid;
	ssize_t n;

	do {
		n = recv(init_pipe, &pid, sizeof(pid), 0);
	} while (n < 0 && errno == EINTR);
	if (n != (ssize_t)sizeof(pid))
		stage2_fail(KODA_LAUNCH_INIT_GONE, "", errno);
	return pid;
}

static void guard(pid_t init, int pidfd, int init_pipe)
{
	const unsigned char planned = 1;
	struct plan plan;
	struct init_orders orders;

	/* Init opens the listener and makes the ruleset while the guardian does its part. */
	if (write(init_pipe, &planned, sizeof(planned)) != (ssize_t)sizeof(planned))
		stage2_fail(KODA_LAUNCH_INIT_GONE, "", errno);
	plan = stage2_plan_load(KODA_STAGE2_PLAN_FD);
	check_plan(&plan);
	memset(&orders, 0, sizeof(orders));
	orders.cgroup = stage2_cgroup_open(&plan, init);
	if (orders.cgroup)
		stage2_cgroup_add(receive_command_pid(init_pipe));
	stage2_scratch_make(&plan);
	if (write(init_pipe, &orders, sizeof(orders)) != (ssize_t)sizeof(orders))
		stage2_fail(KODA_LAUNCH_INIT_GONE, "", errno);
	stage2_sweep_use(&plan);
	stage2_lifeline_watch(pidfd, init_pipe, stage2_lifeline_pass);
	stage2_sweep_stop();
}

void stage2_landlock_guard(void)
{
	pid_t init;
	int pidfd;
	int init_pipe;

	stage2_proctree_begin(false);
	init = start_init(&pidfd, &init_pipe);
	/* The command's streams must end with the command, not with the guardian. */
	for (int fd = 0; fd <= 2; fd++)
		(void)close(fd);
	if (stage2_lifeline_wait_for_plan())
		guard(init, pidfd, init_pipe);
	/* Ends init, too, if it is still running. */
	(void)stage2_proctree_end(NULL);
}
