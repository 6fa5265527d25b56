/* SPDX-License-Identifier: MIT */
/*
 * T-49. The first process in a sandbox that bubblewrap has made. It does not trust bubblewrap: a
 * view that bubblewrap made is compared with the plan, mount by mount, before anything else is
 * done, and the command checks itself as in every sandbox.
 *
 * Where it may mount, it makes the view itself, as init of the native backend does, with the
 * capabilities that bubblewrap was told to leave it. It keeps descriptors of what it mounts, while
 * bubblewrap follows links and makes files in trees that other processes can change meanwhile. Only
 * bubblewrap can mount /proc, which belongs to its pid namespace, so that mount is kept.
 *
 * T-34. Then it moves into a copy of the view that belongs to one more user namespace, as init
 * does. Where it may not mount, bubblewrap has made the view, and descriptors of it must not leave
 * it. So no socket can be made in a tree of the host, where commands of two sandboxes could meet.
 * Network namespaces separate abstract sockets, and masks hide the sockets of the host.
 */
#include "init/inside.h"

#include "command/check.h"
#include "command/lock.h"
#include "fail.h"
#include "init/device.h"
#include "init/init.h"
#include "init/inspect.h"
#include "init/net.h"
#include "init/orders.h"
#include "init/tree.h"
#include "init/userns.h"
#include "init/view.h"
#include "init/walk.h"
#include "plan.h"
#include "report.h"
#include "sys.h"
#include "wire/bwrap.h"
#include "wire/report.h"

#include <errno.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>

/* Moves the command's streams to 0-2 and closes bubblewrap's descriptors. */
static void take_descriptors(void)
{
	for (int i = 0; i < 3; i++)
		if (dup2(KODA_INSIDE_STREAMS + i, i) < 0)
			stage2_fail(KODA_LAUNCH_INSIDE_STREAMS, "", errno);
	if (syscall(SYS_close_range, KODA_INSIDE_STREAMS, ~0U, 0) < 0 ||
	    fcntl(KODA_INSIDE_STATUS, F_SETFD, FD_CLOEXEC) < 0 ||
	    fcntl(KODA_INSIDE_INIT_PIPE, F_SETFD, FD_CLOEXEC) < 0)
		stage2_fail(KODA_LAUNCH_CLOSE_FDS, "", errno);
	_Static_assert(KODA_INSIDE_PLAN == KODA_STAGE2_PLAN_FD &&
			       KODA_INSIDE_STATUS == KODA_STAGE2_STATUS_FD &&
			       KODA_INSIDE_INIT_PIPE == KODA_STAGE2_LIFE_FD,
		       "as everywhere in the launcher");
}

/* Sends the first byte; its credentials tell the guardian this process's pid. */
static void greet_guardian(bool locked)
{
	const unsigned char here = locked ? INSIDE_LOCKED : INSIDE_OPEN;

	if (send(KODA_INSIDE_INIT_PIPE, &here, 1, MSG_NOSIGNAL) != 1)
		_exit(KODA_STAGE2_FAILED); /* the guardian is gone */
}

/* Waits until the guardian has done its part of the plan. If this process cannot make the view, the
 * guardian kills it instead. */
static struct init_orders wait_for_guardian(void)
{
	struct init_orders orders;

	if (recv(KODA_INSIDE_INIT_PIPE, &orders, sizeof(orders), 0) != (ssize_t)sizeof(orders))
		_exit(KODA_STAGE2_FAILED);
	stage2_check_use_outside(orders.outside);
	return orders;
}

/* T-13, T-25. Makes the mounts private, so that no mount of the host propagates, and the host's
 * device nodes read-only, because root inside owns them. The new user namespace permits both. */
static void tighten_view(void)
{
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		stage2_fail(KODA_LAUNCH_PRIVATE_MOUNTS, "/", errno);
	for (const char *const *node = stage2_device_nodes; *node; node++)
		stage2_tree_set(AT_FDCWD, *node, 0, MOUNT_ATTR_RDONLY, *node);
}

/* Fails if the plan hides paths that bubblewrap cannot hide safely, and this process may not
 * mount. */
static void refuse_unsafe_masks(const struct plan *plan)
{
	struct koda_op op;
	size_t at = 0;

	while (koda_ops_next(plan->bytes, &at, &op)) {
		int fd;

		if (op.kind != KODA_OP_MASK && op.kind != KODA_OP_VEIL)
			continue;
		if (!(op.flags & KODA_OP_ONLY_INSIDE))
			continue;
		fd = stage2_walk_open(op.text1.ptr);
		/* A socket that has been removed needs no mask. */
		if (fd >= 0 || !(op.flags & KODA_OP_FLEETING))
			stage2_fail(KODA_LAUNCH_BWRAP_MASK, op.text1.ptr, 0);
	}
}

/* Makes the view, and then the copy of it in which every mount is locked. */
static struct init_orders make_view(struct plan *ret_plan, uid_t user, gid_t group)
{
	struct init_orders orders;

	stage2_view_prepare(true); /* while the guardian does its part */
	orders = wait_for_guardian();
	*ret_plan = stage2_plan_load(KODA_STAGE2_PLAN_FD);
	stage2_view_begin(ret_plan);
	stage2_view_build(ret_plan, &orders);
	stage2_net_join();
	if (syscall(SYS_close_range, KODA_STAGE2_LIFE_FD + 1, ~0U, 0) < 0)
		stage2_fail(KODA_LAUNCH_CLOSE_FDS, "", errno);
	stage2_check_remember_view();
	stage2_userns_lock_view(user, group);
	stage2_inspect_proc(); /* the one mount that was not made here */
	return orders;
}

/* Takes over the view that bubblewrap has made. */
static struct init_orders take_view(struct plan *ret_plan, bool locked)
{
	struct init_orders orders = wait_for_guardian();

	*ret_plan = stage2_plan_load(KODA_STAGE2_PLAN_FD);
	refuse_unsafe_masks(ret_plan);
	if (locked) {
		tighten_view();
		stage2_lock_bounding_set();
	} else {
		stage2_check_open_view();
		stage2_lock_no_sockets();
	}
	stage2_inspect_view(ret_plan);
	return orders;
}

_Noreturn void stage2_inside_main(bool made)
{
	const uid_t user = geteuid();
	const gid_t group = getegid();
	struct plan plan;
	struct init_orders orders;
	sigset_t all;
	bool locked;

	take_descriptors();
	(void)sigfillset(&all);
	if (sigprocmask(SIG_SETMASK, &all, NULL) < 0)
		stage2_fail(KODA_LAUNCH_BLOCK_SIGNALS, "", errno);
	/* It was executed as /proc/self/fd/9. */
	if (prctl(PR_SET_NAME, "koda-sandbox-stage2", 0, 0, 0) < 0)
		stage2_fail(KODA_LAUNCH_SET_NAME, "", errno);
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		stage2_fail(KODA_LAUNCH_UNDUMPABLE, "", errno);
	stage2_check_remember_view();
	locked = stage2_userns_try_lock_view(user, group);
	/* Only a lack of rights (EPERM, EACCES) makes an open view. A limit that is reached fails:
	 * later commands would have another kind of view. */
	if (!locked && errno != EPERM && errno != EACCES)
		stage2_fail(KODA_LAUNCH_LOCK_VIEW, "", errno);
	/* Before the guardian wakes up: the kernel starts a new process on an idle processor, and
	 * leaves it there. */
	if (!made && locked)
		stage2_net_begin();
	greet_guardian(locked);
	if (!made && !locked) {
		(void)wait_for_guardian(); /* the guardian starts another bubblewrap and kills this
					      one */
		stage2_fail(KODA_LAUNCH_INSIDE_VIEW, "", EPERM);
	}
	orders = made ? take_view(&plan, locked) : make_view(&plan, user, group);
	/* The runner may wait for this report before it decides on the backend. */
	if (!stage2_report_send(KODA_REPORT_READY,
				locked ? KODA_REPORT_READY_LOCKED : KODA_REPORT_READY_OPEN))
		_exit(1);
	stage2_init_run(&plan, stage2_net_listen(&plan), user, orders.cgroup);
}
