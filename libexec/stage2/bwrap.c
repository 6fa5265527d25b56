/* SPDX-License-Identifier: MIT */
/*
 * T-49. The guardian where bubblewrap makes the namespaces. It starts bubblewrap before there is a
 * plan, by the descriptor that the runner looked at, with no environment, and in a mount namespace
 * that follows no other if it may make one. What bubblewrap says goes to the runner if it fails,
 * and never to the command's streams.
 *
 * The first process inside is ours again. Its number is learnt from the kernel, by the credentials
 * of its first message; from then on it is held by a pidfd, and when that says that it has ended,
 * everything in its pid namespace has. Its first word says whether it can make the view; if not,
 * another bubblewrap is started and told to, now that every mount point is reserved. The runner may
 * know that from before; should it be wrong, it is the other way round.
 */
#include "inside.h"

#include "sys.h"
#include "wire/bwrap.h"
#include "wire/report.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define STACK_SIZE ((size_t)64 << 10)

/* Above every number that bubblewrap is given on purpose. */
#define PARKED (KODA_INSIDE_NOTHING + KODA_NOTHING_MAX)

/* What bubblewrap is started with. */
struct told {
	char *part; /* of the first process inside */
	int plan;
	int args;
	int errors;
	int bond;
	int files[KODA_FILES_MAX]; /* with contents */
	int file_count;
	int nothing; /* how many without */
};

static pid_t ending; /* bubblewrap that is to be waited for */

struct started {
	pid_t pid;  /* bubblewrap itself, which outlives what is inside */
	int pidfd;  /* the same */
	int bond;   /* to the first process inside */
	int errors; /* what bubblewrap says */
};

/* Out of the way of the numbers that are about to be given out. */
static int park(int fd)
{
	int parked = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, PARKED);

	if (parked < 0)
		koda_stage2_fail("keep a descriptor", "", errno);
	return parked;
}

static void place(int fd, int number)
{
	if (dup2(fd, number) < 0)
		koda_stage2_fail("place a descriptor", "", errno);
}

/* T-25. Bubblewrap's mounts follow those of the namespace it starts in. One that follows nothing
 * can be had by root; everybody else gets it inside, if at all. */
static void leave_mounts(void)
{
	if (unshare(CLONE_NEWNS) == 0 && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		koda_stage2_fail("make the mounts private", "/", errno);
}

/* The new process becomes bubblewrap. */
static _Noreturn void become_bubblewrap(const struct told *told)
{
	static char name[] = "bwrap";
	static char option[] = "--args";
	static char args_number[] = "10";
	static char self[] = "/proc/self/fd/9";
	char *const argv[] = { name, option, args_number, self, told->part, NULL };
	char *const envp[] = { NULL };
	int program = park(KODA_BWRAP_PROGRAM_FD);
	int nothing = park(open("/dev/null", O_RDWR | O_CLOEXEC));
	int from[KODA_INSIDE_NOTHING];

	_Static_assert(KODA_INSIDE_ARGS == 10 && KODA_INSIDE_SELF == 9, "as in the arguments");
	leave_mounts();
	from[0] = from[1] = nothing;
	from[2] = park(told->errors);
	from[KODA_INSIDE_PLAN] = park(told->plan);
	from[KODA_INSIDE_STATUS] = park(KODA_STAGE2_STATUS_FD);
	from[KODA_INSIDE_BOND] = park(told->bond);
	for (int i = 0; i < 3; i++)
		from[KODA_INSIDE_STREAMS + i] = park(i);
	from[KODA_INSIDE_SELF] = park(open("/proc/self/exe", O_PATH | O_CLOEXEC));
	from[KODA_INSIDE_ARGS] = park(told->args);
	for (int i = 0; i < told->file_count; i++)
		from[KODA_INSIDE_FILES + i] = park(told->files[i]);
	for (int i = 0; i < KODA_INSIDE_FILES + told->file_count; i++)
		place(from[i], i);
	for (int i = 0; i < told->nothing; i++)
		place(nothing, KODA_INSIDE_NOTHING + i);
	(void)syscall(SYS_execveat, program, "", argv, envp, AT_EMPTY_PATH);
	koda_stage2_fail("execute bubblewrap", "", errno);
}

static int make_memory(const char *name)
{
	int fd = (int)syscall(SYS_memfd_create, name, 1U /* close on exec */);

	if (fd < 0)
		koda_stage2_fail("make a file in memory", name, errno);
	return fd;
}

static int become(void *context)
{
	become_bubblewrap(context);
}

/* Until it is executed it lives in our memory, on a stack of its own: there is nothing to copy. */
static struct started start(struct told *told)
{
	static char stack[STACK_SIZE] __attribute__((aligned(16)));
	struct started started;
	int bond[2];
	const int on = 1;

	told->errors = started.errors = make_memory("koda-errors");
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, bond) < 0 ||
	    setsockopt(bond[0], SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) < 0)
		koda_stage2_fail("make a channel to bubblewrap", "", errno);
	told->bond = bond[1];
	started.pid = clone(become, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | SIGCHLD, told);
	if (started.pid < 0)
		koda_stage2_fail("start bubblewrap", "", errno);
	(void)close(bond[1]);
	started.pidfd = (int)syscall(SYS_pidfd_open, started.pid, 0);
	if (started.pidfd < 0)
		koda_stage2_fail("hold bubblewrap", "", errno);
	started.bond = bond[0];
	return started;
}

/* The whole view: its arguments, and contents for what they have descriptors for. */
static struct told tell_view(const struct plan *plan, int plan_fd)
{
	static char part[] = KODA_STAGE2_VIEWER;
	struct told told = { .part = part, .plan = plan_fd, .args = KODA_BWRAP_ARGS_FD };
	struct koda_op op;
	size_t at = 0;

	while (koda_ops_next(plan->bytes, &at, &op)) {
		int fd;

		told.nothing += koda_bwrap_masks_file(&op) && told.nothing < KODA_NOTHING_MAX;
		if (op.kind != KODA_OP_FILE)
			continue;
		fd = make_memory("koda-data");
		if (told.file_count == KODA_FILES_MAX ||
		    pwrite(fd, op.text2.ptr, op.text2.len, 0) != (ssize_t)op.text2.len)
			koda_stage2_fail("keep the contents of a file", op.text1.ptr, errno);
		told.files[told.file_count++] = fd;
	}
	return told;
}

/* Has something gone that bubblewrap was to hide? Sockets come and go. */
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

void koda_bwrap_wait(void)
{
	while (ending > 0 && waitpid(ending, NULL, 0) < 0 && errno == EINTR)
		;
	ending = 0;
	/* Who was inside has become our child with its end, and has ended before. Not every machine
	 * has somebody who would collect it. */
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
}

/* Bubblewrap, and with it whatever it started. */
static void end(const struct started *started)
{
	if (started->pid > 0)
		(void)kill(started->pid, SIGKILL);
	ending = started->pid;
}

/* With everything below this process. */
static void end_all(const struct started *started)
{
	end(started);
	koda_bwrap_wait();
	/* What it has left behind has become ours. */
	(void)koda_family_end(NULL);
}

/* Bubblewrap's own words, the first line of them. It has ended, or is of no use. */
static _Noreturn void tell_failure(const struct started *started, const struct plan *plan)
{
	char text[192];
	ssize_t n;

	end_all(started);
	if (has_changed(plan))
		koda_stage2_fail("a path changed while the sandbox was being made", "", EAGAIN);
	n = pread(started->errors, text, sizeof(text) - 1, 0);
	text[n > 0 ? n : 0] = '\0';
	text[strcspn(text, "\n")] = '\0';
	koda_stage2_fail("bubblewrap cannot make the sandbox", text, 0);
}

/* Who is inside, by a pidfd, and the first word from there. */
struct met {
	pid_t pid;
	int pidfd; /* -1: the runner went away meanwhile */
	unsigned char word;
};

/* Does not return if bubblewrap fails. */
static struct met meet(const struct started *started, const struct plan *plan)
{
	struct pollfd polled[] = { { .fd = KODA_STAGE2_LIFE_FD, .events = 0 },
				   { .fd = started->bond, .events = POLLIN },
				   { .fd = started->pidfd, .events = POLLIN } };
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(sizeof(struct ucred))];
	} control = { .space = { 0 } };
	struct met met = { .pidfd = -1 };
	struct iovec bytes = { &met.word, 1 };
	struct msghdr message = { .msg_iov = &bytes,
				  .msg_iovlen = 1,
				  .msg_control = control.space,
				  .msg_controllen = sizeof(control.space) };
	const struct cmsghdr *header;
	struct ucred who;

	while (poll(polled, 3, -1) < 0)
		if (errno != EINTR)
			koda_stage2_fail("wait for bubblewrap", "", errno);
	/* What it has started may wait for it in vain, and keep the bond. */
	if (!polled[1].revents && polled[2].revents)
		tell_failure(started, plan);
	if (!polled[1].revents)
		return met;
	if (recvmsg(started->bond, &message, MSG_CMSG_CLOEXEC) != 1 || met.word == INSIDE_FAILED)
		tell_failure(started, plan);
	header = CMSG_FIRSTHDR(&message);
	if (!header || header->cmsg_type != SCM_CREDENTIALS)
		koda_stage2_fail("learn who is inside", "", 0);
	memcpy(&who, CMSG_DATA(header), sizeof(who));
	met.pid = who.pid;
	met.pidfd = who.pid > 0 ? (int)syscall(SYS_pidfd_open, who.pid, 0) : -1;
	if (met.pidfd < 0)
		koda_stage2_fail("hold on to the first process inside", "", errno);
	return met;
}

/* The first process inside passes them on; but it may be waiting for something itself. */
static bool pass(int pidfd, int bond, unsigned char number)
{
	(void)pidfd;
	if (number != SIGKILL)
		(void)!send(bond, &number, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
	return number != SIGKILL;
}

/* Until the lifeline or the first process inside ends, and that has. */
static void watch(struct started *started, int pidfd)
{
	koda_guard_watch(pidfd, started->bond, pass);
	/* Without its guardian bubblewrap ends by itself. */
	if (!koda_guard_await(pidfd, KODA_GUARD_PATIENCE_MS))
		started->pid = 0;
}

/* Before there is a plan. */
static struct started start_bare(int plan_fd)
{
	static char part[] = KODA_STAGE2_INSIDE;
	struct told told = { .part = part, .plan = plan_fd, .args = KODA_BWRAP_START_FD };

	return start(&told);
}

/* With all that bubblewrap can be told: nobody inside may mount. */
static struct started start_view(const struct plan *plan, int plan_fd)
{
	struct told told = tell_view(plan, plan_fd);
	struct started started = start(&told);

	for (int i = 0; i < told.file_count; i++)
		(void)close(told.files[i]);
	return started;
}

/* Once more, the other way. */
static struct met start_again(struct started *started, struct met met, const struct plan *plan,
			      int plan_fd, bool view)
{
	struct pollfd ended = { .fd = met.pidfd, .events = POLLIN };

	(void)syscall(SYS_pidfd_send_signal, met.pidfd, SIGKILL, NULL, 0);
	end(started);
	(void)close(started->pidfd);
	(void)close(started->bond);
	(void)close(started->errors);
	*started = view ? start_view(plan, plan_fd) : start_bare(plan_fd);
	/* What has been in the way of nobody meanwhile. */
	while (poll(&ended, 1, -1) < 0 && errno == EINTR)
		;
	koda_bwrap_wait();
	(void)close(met.pidfd);
	return meet(started, plan);
}

/* From the plan to the end of the command. True if everything inside has ended. */
static bool guard(struct started *started, bool view)
{
	int plan_fd = park(KODA_STAGE2_PLAN_FD); /* loading closes it */
	const struct plan plan = koda_plan_load(KODA_STAGE2_PLAN_FD);
	struct go go = { .cgroup = false };
	struct met met;

	/* Caches are empty, whoever makes the view. */
	memset(go.slot, -1, sizeof(go.slot));
	koda_check_tell_outside(go.outside);
	koda_hold_all(&plan);
	if (view)
		*started = start_view(&plan, plan_fd);
	met = meet(started, &plan);
	if (met.pidfd >= 0 && view == (met.word == INSIDE_LOCKED))
		met = start_again(started, met, &plan, plan_fd, !view);
	/* The command's streams must end when the command does, not when we do. */
	for (int fd = 0; fd <= 2; fd++)
		(void)close(fd);
	(void)close(plan_fd);
	/* How bubblewrap itself fares was of interest until somebody was inside. */
	(void)close(started->pidfd);
	(void)close(started->errors);
	if (met.pidfd < 0)
		return false;
	go.cgroup = koda_cgroup_open(&plan, met.pid);
	if (send(started->bond, &go, sizeof(go), MSG_NOSIGNAL) != (ssize_t)sizeof(go))
		return false;
	watch(started, met.pidfd);
	return true;
}

/* The words from inside that nobody has heard. */
static void hear_last_words(int bond)
{
	unsigned char word = 0;
	ssize_t n;

	/* A reset comes once, and before them. */
	while ((n = recv(bond, &word, 1, MSG_DONTWAIT)) == 1 || (n < 0 && errno == ECONNRESET))
		*koda_failed = *koda_failed || word == INSIDE_FAILED;
}

void koda_bwrap_guard(bool open_view)
{
	struct started started = { .pid = 0, .bond = -1 };

	/* Orphans of bubblewrap come here, to be ended. */
	if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0)
		koda_stage2_fail("become the reaper of orphans", "", errno);
	if (!open_view)
		started = start_bare(KODA_STAGE2_PLAN_FD);
	if (koda_guardian_wait_for_plan() && guard(&started, open_view))
		end(&started); /* it is the only one left */
	else
		end_all(&started);
	hear_last_words(started.bond);
}
