/* SPDX-License-Identifier: MIT */
/*
 * T-49. The first process in a sandbox that bubblewrap has made. It trusts nothing of that: a view
 * that bubblewrap made is compared with the plan, mount by mount, before anything else is done, and
 * the command checks itself as in every sandbox.
 *
 * Where it may, it makes the view itself, as init does in a sandbox of our own, with the rights
 * that bubblewrap was told to leave it: it holds on to what it mounts, while bubblewrap would
 * follow links and make files in trees that others can change meanwhile. Nobody but bubblewrap
 * could mount /proc, which belongs to the namespace of processes; that one is kept.
 *
 * T-34. Then it moves into a copy of the view that belongs to one more user namespace, as init
 * does. Where it may not mount, bubblewrap has made the view, and descriptors of it must not leave
 * it: no socket can then be made in a tree of the host, which is where commands of two sandboxes
 * could meet. (Network namespaces keep them from meeting by abstract names, masks from the host's
 * own sockets.)
 */
#include "inside.h"

#include "sys.h"
#include "tree.h"
#include "wire/bwrap.h"
#include "wire/report.h"

#include <errno.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>

/* The command's streams to their places; nothing of bubblewrap's stays. */
static void take_descriptors(void)
{
	for (int i = 0; i < 3; i++)
		if (dup2(KODA_INSIDE_STREAMS + i, i) < 0)
			koda_stage2_fail("take the command's streams", "", errno);
	if (syscall(SYS_close_range, KODA_INSIDE_STREAMS, ~0U, 0) < 0 ||
	    fcntl(KODA_INSIDE_STATUS, F_SETFD, FD_CLOEXEC) < 0 ||
	    fcntl(KODA_INSIDE_BOND, F_SETFD, FD_CLOEXEC) < 0)
		koda_stage2_fail("close descriptors", "", errno);
	_Static_assert(KODA_INSIDE_PLAN == KODA_STAGE2_PLAN_FD &&
			       KODA_INSIDE_STATUS == KODA_STAGE2_STATUS_FD &&
			       KODA_INSIDE_BOND == KODA_STAGE2_LIFE_FD,
		       "as everywhere in the launcher");
}

/* The guardian learns who we are. */
static void greet_guardian(bool locked)
{
	const unsigned char here = locked ? INSIDE_LOCKED : INSIDE_OPEN;

	if (send(KODA_INSIDE_BOND, &here, 1, MSG_NOSIGNAL) != 1)
		_exit(KODA_STAGE2_FAILED); /* it is gone */
}

/* It has done its part of the plan, and tells what is outside. If we are of no use, it ends us. */
static struct go wait_for_guardian(void)
{
	struct go go;

	if (recv(KODA_INSIDE_BOND, &go, sizeof(go), 0) != (ssize_t)sizeof(go))
		_exit(KODA_STAGE2_FAILED);
	koda_check_take_outside(go.outside);
	return go;
}

/* T-13, T-25. With the rights that the new namespace brings: no mount of the host follows, and the
 * host's device nodes, which root inside owns, cannot be changed. */
static void tighten_view(void)
{
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		koda_stage2_fail("make the mounts private", "/", errno);
	for (const char *const *node = koda_device_nodes; *node; node++)
		koda_tree_set(AT_FDCWD, *node, 0, MOUNT_ATTR_RDONLY, *node);
}

/* What bubblewrap must not be told to hide, and nobody else may. */
static void refuse_unmade(const struct plan *plan)
{
	struct koda_op op;
	size_t at = 0;

	while (koda_ops_next(plan->bytes, &at, &op)) {
		int fd;

		if (op.kind != KODA_OP_MASK && op.kind != KODA_OP_VEIL)
			continue;
		if (!(op.flags & KODA_OP_ONLY_INSIDE))
			continue;
		fd = koda_tree_open(op.text1.ptr);
		/* Sockets come and go. */
		if (fd >= 0 || !(op.flags & KODA_OP_FLEETING))
			koda_stage2_fail("bubblewrap cannot safely hide it in a tree that can be "
					 "written",
					 op.text1.ptr, 0);
	}
}

/* The view, and then a copy of it in which it is locked. */
static struct go make_view(struct plan *ret_plan, uid_t user, gid_t group)
{
	struct go go;

	koda_view_prepare(true); /* the guardian has something to do meanwhile */
	go = wait_for_guardian();
	*ret_plan = koda_plan_load(KODA_STAGE2_PLAN_FD);
	koda_view_begin(ret_plan);
	koda_view_build(ret_plan, &go);
	koda_net_join();
	if (syscall(SYS_close_range, KODA_STAGE2_LIFE_FD + 1, ~0U, 0) < 0)
		koda_stage2_fail("close descriptors", "", errno);
	koda_check_remember_view();
	koda_user_seclude(user, group);
	koda_inspect_proc(); /* the one mount that was not made here */
	return go;
}

/* The view is there. */
static struct go take_view(struct plan *ret_plan, bool locked)
{
	struct go go = wait_for_guardian();

	*ret_plan = koda_plan_load(KODA_STAGE2_PLAN_FD);
	refuse_unmade(ret_plan);
	if (locked) {
		tighten_view();
		koda_lock_bounding_set();
	} else {
		koda_check_open_view();
		koda_lock_no_sockets();
	}
	koda_inspect_view(ret_plan);
	return go;
}

_Noreturn void koda_inside_main(bool made)
{
	const uid_t user = geteuid();
	const gid_t group = getegid();
	struct plan plan;
	struct go go;
	sigset_t all;
	bool locked;

	take_descriptors();
	(void)sigfillset(&all);
	if (sigprocmask(SIG_SETMASK, &all, NULL) < 0)
		koda_stage2_fail("block signals", "", errno);
	/* It was executed by a number. */
	if (prctl(PR_SET_NAME, "koda-sandbox-stage2", 0, 0, 0) < 0)
		koda_stage2_fail("take its name", "", errno);
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		koda_stage2_fail("become undumpable", "", errno);
	koda_check_remember_view();
	locked = koda_user_try_seclude(user, group);
	/* Only if nobody here may: that not all can because of a limit makes views of both kinds.
	 */
	if (!locked && errno != EPERM && errno != EACCES)
		koda_stage2_fail("lock the view in namespaces of its own", "", errno);
	/* Before the guardian wakes up: the kernel puts a new process where nobody runs, and leaves
	 * it there. */
	if (!made && locked)
		koda_net_begin();
	greet_guardian(locked);
	if (!made && !locked) {
		(void)wait_for_guardian(); /* which starts another bubblewrap */
		koda_stage2_fail("the view cannot be made", "", EPERM);
	}
	go = made ? take_view(&plan, locked) : make_view(&plan, user, group);
	/* Somebody may wait for this word. */
	if (!koda_report_send(KODA_REPORT_READY,
			      locked ? KODA_REPORT_READY_LOCKED : KODA_REPORT_READY_OPEN, 0, "",
			      ""))
		_exit(1);
	koda_init_run(&plan, koda_net_listen(&plan), user, go.cgroup);
}
