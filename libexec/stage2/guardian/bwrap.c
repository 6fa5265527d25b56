/* SPDX-License-Identifier: MIT */
/*
 * T-49. The guardian of the bwrap backend. It starts bubblewrap before there is a plan.
 *
 * The first process inside runs the launcher again. The guardian learns its pid from the kernel, by
 * the credentials (SCM_CREDENTIALS) of its first message, and holds it by a pidfd: when that
 * process has ended, everything in its pid namespace has. Its first byte says whether it may mount,
 * and so make the view itself. If it may not, another bubblewrap is started with the arguments of
 * the whole view, now that every mount point is reserved. The runner may know that from an earlier
 * command (open_view). If that has changed, the guardian starts bubblewrap again without the view.
 */
#include "guardian/bwrap.h"

#include "command/check.h"
#include "fail.h"
#include "guardian/await.h"
#include "guardian/bwrap_start.h"
#include "guardian/cgroup.h"
#include "guardian/lifeline.h"
#include "guardian/reserve.h"
#include "guardian/sweep.h"
#include "init/inside.h"
#include "init/orders.h"
#include "landlock/proctree.h"
#include "plan.h"
#include "sys.h"
#include "wire/report.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

static pid_t ending; /* bubblewrap that has got SIGKILL and is not reaped yet; 0: none */

/* Returns true if a socket that bubblewrap was to hide has been removed meanwhile. */
static bool has_changed(const struct plan *plan)
{
	struct koda_op op;
	struct stat st;
	size_t at = 0;

	while (koda_ops_next(plan->bytes, &at, &op))
		if (op.kind == KODA_OP_MASK && (op.flags & KODA_OP_FLEETING) &&
		    !(op.flags & KODA_OP_DIRECTORY) && lstat(op.text1.ptr, &st) < 0)
			return true;
	return false;
}

void stage2_bwrap_reap(void)
{
	while (ending > 0 && waitpid(ending, NULL, 0) < 0 && errno == EINTR)
		;
	ending = 0;
	/* The first process inside has become a child of the guardian, a subreaper. In a container
	 * pid 1 may not reap it. */
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
}

/* Kills bubblewrap. The processes inside end with it (--die-with-parent). */
static void kill_bwrap(const struct bwrap_process *bwrap)
{
	if (bwrap->pid > 0)
		(void)kill(bwrap->pid, SIGKILL);
	ending = bwrap->pid;
}

/* Kills bubblewrap and everything below the guardian. */
static void kill_all(const struct bwrap_process *bwrap)
{
	kill_bwrap(bwrap);
	stage2_bwrap_reap();
	/* Orphans of bubblewrap have become children of the guardian. */
	(void)stage2_proctree_end(NULL);
}

/* Fails with the first line of bubblewrap's stderr. Bubblewrap has ended, or is killed. */
static _Noreturn void report_failure(const struct bwrap_process *bwrap, const struct plan *plan)
{
	char text[192];
	ssize_t n;

	kill_all(bwrap);
	if (has_changed(plan))
		stage2_fail(KODA_LAUNCH_PATH_CHANGED, "", EAGAIN);
	n = pread(bwrap->errors, text, sizeof(text) - 1, 0);
	text[n > 0 ? n : 0] = '\0';
	text[strcspn(text, "\n")] = '\0';
	stage2_fail(KODA_LAUNCH_BWRAP_FAILED, text, 0);
}

/* The first process inside. */
struct inside_process {
	pid_t pid;
	int pidfd;          /* -1: the lifeline has ended meanwhile */
	unsigned char byte; /* the first that it sent: INSIDE_... */
};

/* Waits for the first message from inside. Does not return if bubblewrap fails. */
static struct inside_process meet(const struct bwrap_process *bwrap, const struct plan *plan)
{
	struct pollfd polled[] = { { .fd = KODA_STAGE2_LIFE_FD, .events = 0 },
				   { .fd = bwrap->init_pipe, .events = POLLIN },
				   { .fd = bwrap->pidfd, .events = POLLIN } };
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(sizeof(struct ucred))];
	} control = { .space = { 0 } };
	struct inside_process inside = { .pidfd = -1 };
	struct iovec bytes = { &inside.byte, 1 };
	struct msghdr message = { .msg_iov = &bytes,
				  .msg_iovlen = 1,
				  .msg_control = control.space,
				  .msg_controllen = sizeof(control.space) };
	const struct cmsghdr *header;
	struct ucred who;

	while (poll(polled, 3, -1) < 0)
		if (errno != EINTR)
			stage2_fail(KODA_LAUNCH_BWRAP_WAIT, "", errno);
	/* Bubblewrap has ended. A child of it may still keep the socket open. */
	if (!polled[1].revents && polled[2].revents)
		report_failure(bwrap, plan);
	if (!polled[1].revents)
		return inside;
	if (recvmsg(bwrap->init_pipe, &message, MSG_CMSG_CLOEXEC) != 1 ||
	    inside.byte == INSIDE_FAILED)
		report_failure(bwrap, plan);
	header = CMSG_FIRSTHDR(&message);
	if (!header || header->cmsg_type != SCM_CREDENTIALS)
		stage2_fail(KODA_LAUNCH_INSIDE_PID, "", 0);
	memcpy(&who, CMSG_DATA(header), sizeof(who));
	inside.pid = who.pid;
	inside.pidfd = who.pid > 0 ? (int)syscall(SYS_pidfd_open, who.pid, 0) : -1;
	if (inside.pidfd < 0)
		stage2_fail(KODA_LAUNCH_INSIDE_PIDFD, "", errno);
	return inside;
}

/* Passes a signal to the first process inside, which sends it to the command. SIGKILL ends the
 * watch instead: that process may be blocked. */
static bool pass(int pidfd, int init_pipe, unsigned char number)
{
	(void)pidfd;
	if (number != SIGKILL)
		(void)!send(init_pipe, &number, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
	return number != SIGKILL;
}

/* Starts bubblewrap again, with the view or without. */
static struct inside_process start_again(struct bwrap_process *bwrap, struct inside_process inside,
					 const struct plan *plan, int plan_fd, bool view)
{
	struct pollfd ended = { .fd = inside.pidfd, .events = POLLIN };

	(void)syscall(SYS_pidfd_send_signal, inside.pidfd, SIGKILL, NULL, 0);
	kill_bwrap(bwrap);
	(void)close(bwrap->pidfd);
	(void)close(bwrap->init_pipe);
	(void)close(bwrap->errors);
	*bwrap = view ? stage2_bwrap_start_view(plan, plan_fd) : stage2_bwrap_start_bare(plan_fd);
	/* The old sandbox ends while the new one starts. */
	while (poll(&ended, 1, -1) < 0 && errno == EINTR)
		;
	stage2_bwrap_reap();
	(void)close(inside.pidfd);
	return meet(bwrap, plan);
}

/* Runs from the plan to the end of the command. Returns true if everything inside has ended. */
static bool guard(struct bwrap_process *bwrap, bool view)
{
	int plan_fd = stage2_bwrap_start_park(KODA_STAGE2_PLAN_FD); /* loading closes it */
	const struct plan plan = stage2_plan_load(KODA_STAGE2_PLAN_FD);
	struct init_orders orders = { .cgroup = false };
	struct inside_process inside;

	/* The bwrap backend has no cache slots. */
	memset(orders.slot, -1, sizeof(orders.slot));
	stage2_check_read_outside(orders.outside);
	stage2_reserve_all(&plan);
	if (view)
		*bwrap = stage2_bwrap_start_view(&plan, plan_fd);
	inside = meet(bwrap, &plan);
	if (inside.pidfd >= 0 && view == (inside.byte == INSIDE_LOCKED))
		inside = start_again(bwrap, inside, &plan, plan_fd, !view);
	/* The command's streams must end with the command, not with the guardian. */
	for (int fd = 0; fd <= 2; fd++)
		(void)close(fd);
	(void)close(plan_fd);
	/* From now on the first process inside is watched, not bubblewrap. */
	(void)close(bwrap->pidfd);
	(void)close(bwrap->errors);
	if (inside.pidfd < 0)
		return false;
	orders.cgroup = stage2_cgroup_open(&plan, inside.pid);
	if (send(bwrap->init_pipe, &orders, sizeof(orders), MSG_NOSIGNAL) !=
	    (ssize_t)sizeof(orders))
		return false;
	stage2_sweep_use(&plan);
	stage2_lifeline_watch(inside.pidfd, bwrap->init_pipe, pass);
	stage2_sweep_stop();
	stage2_await_end(inside.pid, inside.pidfd);
	return true;
}

/* Reads what the processes inside have sent last: INSIDE_FAILED is a failure of the launcher. */
static void read_last_bytes(int init_pipe)
{
	unsigned char byte = 0;
	ssize_t n;

	/* ECONNRESET is returned once, before the bytes that are left. */
	while ((n = recv(init_pipe, &byte, 1, MSG_DONTWAIT)) == 1 || (n < 0 && errno == ECONNRESET))
		*stage2_fail_flag = *stage2_fail_flag || byte == INSIDE_FAILED;
}

void stage2_bwrap_guard(bool open_view)
{
	struct bwrap_process bwrap = { .pid = 0, .init_pipe = -1 };

	/* Orphans of bubblewrap become children of the guardian, which kills them. */
	if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0)
		stage2_fail(KODA_LAUNCH_SUBREAPER, "", errno);
	if (!open_view)
		bwrap = stage2_bwrap_start_bare(KODA_STAGE2_PLAN_FD);
	if (stage2_lifeline_wait_for_plan() && guard(&bwrap, open_view))
		kill_bwrap(&bwrap); /* everything inside has ended */
	else
		kill_all(&bwrap);
	read_last_bytes(bwrap.init_pipe);
}
