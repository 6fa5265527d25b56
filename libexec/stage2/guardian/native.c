/* SPDX-License-Identifier: MIT */
/*
 * T-18, T-23. The guardian of the native backend. It clones init into new namespaces before there
 * is a plan, reserves names, takes cache slots and makes the control group while init builds the
 * view, and then watches the lifeline.
 */
#include "guardian/native.h"

#include "command/check.h"
#include "fail.h"
#include "guardian/await.h"
#include "guardian/cache_slot.h"
#include "guardian/cgroup.h"
#include "guardian/lifeline.h"
#include "guardian/reserve.h"
#include "guardian/sweep.h"
#include "init/init.h"
#include "init/orders.h"
#include "plan.h"
#include "sys.h"
#include "wire/report.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>

/* Init makes the network namespace itself (init/net.c). */
#define NAMESPACES                                                                                 \
	(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP)

static pid_t start_init(int *ret_pidfd, int *ret_init_pipe)
{
	int init_pipe[2]; /* lets init go on; init sees the end of file when the guardian ends */
	long pid;
	int pidfd = -1;
	uid_t user = geteuid();
	gid_t group = getegid();
	struct {
		uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls;
	} args = { .flags = NAMESPACES | CLONE_PIDFD,
		   .pidfd = (uint64_t)(uintptr_t)&pidfd,
		   .exit_signal = SIGCHLD };

	if (pipe2(init_pipe, O_CLOEXEC) < 0)
		stage2_fail(KODA_LAUNCH_INIT_PIPE, "", errno);
	pid = syscall(SYS_clone3, &args, sizeof(args));
	if (pid < 0)
		stage2_fail(KODA_LAUNCH_CREATE_NAMESPACES, "", errno);
	if (pid == 0) {
		(void)close(init_pipe[1]);
		(void)close(KODA_STAGE2_LIFE_FD);
		stage2_init_main(init_pipe[0], user, group);
	}
	stage2_await_started((pid_t)pid);
	(void)close(init_pipe[0]);
	*ret_init_pipe = init_pipe[1];
	*ret_pidfd = pidfd;
	return (pid_t)pid;
}

/* Runs from the plan to the end of the command. */
static void guard(pid_t init, int pidfd, int init_pipe)
{
	const unsigned char planned = 1;
	struct plan plan;
	struct init_orders orders = { .cgroup = false };

	/* Init loads the plan and begins the view while the guardian does its part. */
	if (write(init_pipe, &planned, sizeof(planned)) != (ssize_t)sizeof(planned))
		stage2_fail(KODA_LAUNCH_INIT_GONE, "", errno);
	plan = stage2_plan_load(KODA_STAGE2_PLAN_FD);
	stage2_check_read_outside(orders.outside);
	stage2_reserve_all(&plan);
	stage2_cache_slot_take(&plan, &orders);
	orders.cgroup = stage2_cgroup_open(&plan, init);
	if (write(init_pipe, &orders, sizeof(orders)) != (ssize_t)sizeof(orders))
		stage2_fail(KODA_LAUNCH_INIT_GONE, "", errno);
	stage2_sweep_use(&plan);
	stage2_lifeline_watch(pidfd, init_pipe, stage2_lifeline_pass);
	stage2_sweep_stop();
}

/* Init is cloned before there is a plan. */
void stage2_native_guard(void)
{
	int pidfd;
	int init_pipe;
	pid_t init = start_init(&pidfd, &init_pipe);

	/* The command's streams must end with the command, not with the guardian. */
	for (int fd = 0; fd <= 2; fd++)
		(void)close(fd);
	if (stage2_lifeline_wait_for_plan())
		guard(init, pidfd, init_pipe);
	else
		(void)kill(init, SIGKILL);
	stage2_await_end(init, pidfd);
}
