/* SPDX-License-Identifier: MIT */
/*
 * T-38. The guardian where there are no namespaces. It does what the other one does, but nothing
 * ends with init: it ends the tree itself, also if init is not there any more to do so.
 */
#include "stage2.h"

#include "sys.h"
#include "wire/report.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

/* What only a view could do would be left undone. */
static void check_plan(const struct plan *plan)
{
	static const bool views[KODA_OP_COUNT] = {
		[KODA_OP_HOLD] = true,     [KODA_OP_HOLD_FILE] = true, [KODA_OP_WRITABLE] = true,
		[KODA_OP_READONLY] = true, [KODA_OP_PIN] = true,       [KODA_OP_MASK] = true,
		[KODA_OP_VEIL] = true,     [KODA_OP_HOLE] = true,      [KODA_OP_TMPFS] = true,
		[KODA_OP_OVERLAY] = true,  [KODA_OP_DEV] = true,       [KODA_OP_PROC] = true,
	};
	struct koda_op op;
	size_t at = 0;

	while (koda_ops_next(plan->bytes, &at, &op))
		if (views[op.kind])
			koda_stage2_fail("the plan is for another backend", op.text1.ptr, 0);
}

static pid_t start_init(int *ret_pidfd, int *ret_bond)
{
	int bond[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, bond) < 0)
		koda_stage2_fail("make a socket", "", errno);
	pid = fork();
	if (pid < 0)
		koda_stage2_fail("start init", "", errno);
	if (pid == 0) {
		(void)close(bond[1]);
		(void)close(KODA_STAGE2_LIFE_FD);
		koda_fence_init(bond[0]);
	}
	(void)close(bond[0]);
	(void)close(KODA_STAGE2_FILTERS_FD);
	*ret_bond = bond[1];
	*ret_pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (*ret_pidfd < 0)
		koda_stage2_fail("hold init", "", errno);
	return pid;
}

/* It was there before there was a plan, and so before there was a group. */
static pid_t hear_of_command(int bond)
{
	pid_t pid;
	ssize_t n;

	do {
		n = recv(bond, &pid, sizeof(pid), 0);
	} while (n < 0 && errno == EINTR);
	if (n != (ssize_t)sizeof(pid))
		koda_stage2_fail("init is gone", "", errno);
	return pid;
}

static void guard(pid_t init, int pidfd, int bond)
{
	const unsigned char planned = 1;
	struct plan plan;
	struct go go;

	/* Init has much to do before it needs what is made here. */
	if (write(bond, &planned, sizeof(planned)) != (ssize_t)sizeof(planned))
		koda_stage2_fail("init is gone", "", errno);
	plan = koda_plan_load(KODA_STAGE2_PLAN_FD);
	check_plan(&plan);
	memset(&go, 0, sizeof(go));
	go.cgroup = koda_cgroup_open(&plan, init);
	if (go.cgroup)
		koda_cgroup_add(hear_of_command(bond));
	koda_scratch_make(&plan);
	if (write(bond, &go, sizeof(go)) != (ssize_t)sizeof(go))
		koda_stage2_fail("init is gone", "", errno);
	koda_sweep_for(&plan);
	koda_guard_watch(pidfd, bond, koda_guard_pass);
	koda_sweep_stop();
}

void koda_fence_guard(void)
{
	pid_t init;
	int pidfd;
	int bond;

	koda_family_begin(false);
	init = start_init(&pidfd, &bond);
	/* The command's streams must end when the command does, not when we do. */
	for (int fd = 0; fd <= 2; fd++)
		(void)close(fd);
	if (koda_guardian_wait_for_plan())
		guard(init, pidfd, bond);
	/* Init too, if it is still there. */
	(void)koda_family_end(NULL);
}
