/* SPDX-License-Identifier: MIT */
/*
 * T-49. The guardian where bubblewrap makes the namespaces. It reserves the protected names first,
 * so that bubblewrap finds every mount point it is told of; it starts bubblewrap by the descriptor
 * that the runner looked at, with no environment, and in a mount namespace that follows no other if
 * it may make one. What bubblewrap says goes to the runner if it fails, and never to the command's
 * streams.
 *
 * The first process inside is ours again. Its number is learnt from the kernel, by the credentials
 * of its first message; from then on it is held by a pidfd, and when that says that it has ended,
 * everything in its pid namespace has.
 */
#include "stage2.h"

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
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "inside.h"

/* Above every number that bubblewrap is given on purpose. */
#define PARKED 16

struct started {
	pid_t pid;  /* bubblewrap itself, which outlives what is inside */
	int bond;   /* to the first process inside */
	int errors; /* what bubblewrap says */
};

/* Out of the way of the numbers that are about to be given out. */
static int park(int fd, int above)
{
	int parked = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, above);

	if (parked < 0)
		koda_stage2_fail("keep a descriptor", "", errno);
	return parked;
}

static void place(int fd, int number)
{
	if (dup2(fd, number) < 0)
		koda_stage2_fail("place a descriptor", "", errno);
}

static size_t count_data(const struct plan *plan)
{
	struct koda_op op;
	size_t count = 0;
	size_t at = 0;

	while (koda_ops_next(plan->bytes, &at, &op))
		count += koda_bwrap_wants_data(&op);
	return count;
}

/* A file in memory with these contents, to be read from the start. */
static int make_contents(struct koda_span contents)
{
	int fd = (int)syscall(SYS_memfd_create, "koda-data", 1U /* close on exec */);

	if (fd < 0 || pwrite(fd, contents.ptr, contents.len, 0) != (ssize_t)contents.len)
		koda_stage2_fail("keep the contents of a file", "", errno);
	return fd;
}

/* In the order of the plan, as the arguments count them. */
static void place_data(const struct plan *plan, int nothing)
{
	struct koda_op op;
	int number = KODA_INSIDE_DATA;
	size_t at = 0;

	while (koda_ops_next(plan->bytes, &at, &op)) {
		int fd;

		if (!koda_bwrap_wants_data(&op))
			continue;
		fd = op.kind == KODA_OP_FILE ? make_contents(op.text2) : nothing;
		place(fd, number++);
		if (fd != nothing)
			(void)close(fd);
	}
}

static void raise_descriptor_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &limit); /* running out later is reported anyway */
	}
}

/* T-25. Bubblewrap's mounts follow those of the namespace it starts in. One that follows nothing
 * can be had by root; everybody else gets it inside, if at all. */
static void leave_mounts(void)
{
	if (unshare(CLONE_NEWNS) == 0 && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		koda_stage2_fail("make the mounts private", "/", errno);
}

/* The forked process becomes bubblewrap. */
static _Noreturn void become_bubblewrap(const struct plan *plan, int plan_fd, int bond, int errors)
{
	static char name[] = "bwrap";
	static char option[] = "--args";
	static char args[] = "10";
	static char self[] = "/proc/self/fd/9";
	static char part[] = KODA_STAGE2_INSIDE;
	char *const argv[] = { name, option, args, self, part, NULL };
	char *const envp[] = { NULL };
	const int above = KODA_INSIDE_DATA + (int)count_data(plan) + PARKED;
	int program;
	int nothing;
	int from[KODA_INSIDE_ARGS + 1];

	_Static_assert(KODA_INSIDE_ARGS == 10 && KODA_INSIDE_SELF == 9, "as in the arguments");
	raise_descriptor_limit();
	leave_mounts();
	nothing = park(open("/dev/null", O_RDWR | O_CLOEXEC), above);
	program = park(KODA_BWRAP_PROGRAM_FD, above);
	for (int i = 0; i < 3; i++)
		from[KODA_INSIDE_STREAMS + i] = park(i, above);
	from[KODA_INSIDE_PLAN] = park(plan_fd, above);
	from[KODA_INSIDE_STATUS] = park(KODA_STAGE2_STATUS_FD, above);
	from[KODA_INSIDE_BOND] = park(bond, above);
	from[KODA_INSIDE_SELF] = park(open("/proc/self/exe", O_PATH | O_CLOEXEC), above);
	from[KODA_INSIDE_ARGS] = park(KODA_BWRAP_ARGS_FD, above);
	from[0] = from[1] = nothing;
	from[2] = park(errors, above);
	for (int i = 0; i <= KODA_INSIDE_ARGS; i++)
		place(from[i], i);
	if (lseek(KODA_INSIDE_ARGS, 0, SEEK_SET) < 0)
		koda_stage2_fail("rewind the arguments", "", errno);
	place_data(plan, nothing);
	(void)syscall(SYS_execveat, program, "", argv, envp, AT_EMPTY_PATH);
	/* Its number is bubblewrap's now. */
	koda_stage2_fail("execute bubblewrap", "", errno);
}

/* Forked first, moved into the control group, executed then. */
static struct started start(const struct plan *plan, int plan_fd, bool *ret_group)
{
	struct started started;
	unsigned char go = 1;
	int bond[2];
	int gate[2];
	const int on = 1;

	started.errors = (int)syscall(SYS_memfd_create, "koda-errors", 1U /* close on exec */);
	if (started.errors < 0 || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, bond) < 0 ||
	    setsockopt(bond[0], SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) < 0 ||
	    pipe2(gate, O_CLOEXEC) < 0)
		koda_stage2_fail("make a channel to bubblewrap", "", errno);
	started.pid = fork();
	if (started.pid < 0)
		koda_stage2_fail("start bubblewrap", "", errno);
	if (started.pid == 0) {
		(void)close(gate[1]);
		if (read(gate[0], &go, 1) != 1)
			_exit(KODA_STAGE2_FAILED);
		become_bubblewrap(plan, plan_fd, bond[1], started.errors);
	}
	(void)close(bond[1]);
	(void)close(gate[0]);
	/* Bubblewrap itself is one more than the plan counts. */
	*ret_group = koda_cgroup_open(plan, started.pid, 1);
	if (write(gate[1], &go, 1) != 1)
		koda_stage2_fail("bubblewrap is gone", "", errno);
	(void)close(gate[1]);
	started.bond = bond[0];
	return started;
}

/* Masks for what comes and goes, as sockets do. If it goes between the runner's look and
 * bubblewrap's, then bubblewrap makes a file in its place to mount on. In a tree that can be
 * written it can; that file is ours to remove. */
struct fleeting {
	const char *path;
	ino_t inode;
};

static struct fleeting *fleeting;
static size_t fleeting_count;

static bool is_fleeting(const struct koda_op *op)
{
	return op->kind == KODA_OP_MASK && (op->flags & KODA_OP_FLEETING);
}

static void note_fleeting(const struct plan *plan)
{
	struct koda_op op;
	size_t at = 0;

	while (koda_ops_next(plan->bytes, &at, &op))
		fleeting_count += is_fleeting(&op);
	fleeting = calloc(fleeting_count + 1, sizeof(*fleeting));
	if (!fleeting)
		koda_stage2_fail("out of memory", "", ENOMEM);
	fleeting_count = 0;
	for (at = 0; koda_ops_next(plan->bytes, &at, &op);) {
		struct stat st;

		if (is_fleeting(&op))
			fleeting[fleeting_count++] =
				(struct fleeting){ op.text1.ptr,
						   lstat(op.text1.ptr, &st) == 0 ? st.st_ino : 0 };
	}
}

/* True if something had gone before bubblewrap could hide it. */
static bool undo_fleeting(void)
{
	bool gone = false;

	for (size_t i = 0; i < fleeting_count; i++) {
		struct stat st;

		if (lstat(fleeting[i].path, &st) < 0) {
			gone = true;
		} else if (st.st_ino != fleeting[i].inode && S_ISREG(st.st_mode) &&
			   st.st_size == 0 && (st.st_mode & 07777) == 0444 &&
			   st.st_uid == geteuid()) {
			(void)unlink(fleeting[i].path);
			gone = true;
		}
	}
	return gone;
}

/* Bubblewrap's own words, the first line of them. */
static _Noreturn void tell_failure(const struct started *started)
{
	char text[192];
	ssize_t n;

	while (waitpid(started->pid, NULL, 0) < 0 && errno == EINTR)
		;
	if (undo_fleeting())
		koda_stage2_fail("a path changed while the sandbox was being made", "", EAGAIN);
	n = pread(started->errors, text, sizeof(text) - 1, 0);
	text[n > 0 ? n : 0] = '\0';
	text[strcspn(text, "\n")] = '\0';
	koda_stage2_fail("bubblewrap cannot make the sandbox", text, 0);
}

/* A pidfd of the first process inside; -1 if the runner goes away meanwhile. Does not return if
 * bubblewrap fails. */
static int meet(const struct started *started)
{
	struct pollfd polled[] = { { .fd = KODA_STAGE2_LIFE_FD, .events = 0 },
				   { .fd = started->bond, .events = POLLIN } };
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(sizeof(struct ucred))];
	} control = { .space = { 0 } };
	unsigned char byte;
	struct iovec bytes = { &byte, 1 };
	struct msghdr message = { .msg_iov = &bytes,
				  .msg_iovlen = 1,
				  .msg_control = control.space,
				  .msg_controllen = sizeof(control.space) };
	const struct cmsghdr *header;
	struct ucred who;
	int pidfd;

	while (poll(polled, 2, -1) < 0)
		if (errno != EINTR)
			koda_stage2_fail("wait for bubblewrap", "", errno);
	if (!polled[1].revents)
		return -1;
	if (recvmsg(started->bond, &message, MSG_CMSG_CLOEXEC) != 1)
		tell_failure(started);
	header = CMSG_FIRSTHDR(&message);
	if (!header || header->cmsg_type != SCM_CREDENTIALS)
		koda_stage2_fail("learn who is inside", "", 0);
	memcpy(&who, CMSG_DATA(header), sizeof(who));
	pidfd = who.pid > 0 ? (int)syscall(SYS_pidfd_open, who.pid, 0) : -1;
	if (pidfd < 0)
		koda_stage2_fail("hold on to the first process inside", "", errno);
	return pidfd;
}

/* Passes signals on until the lifeline or the first process inside ends. */
static void watch(int pidfd, int bond)
{
	struct pollfd polled[] = { { .fd = KODA_STAGE2_LIFE_FD, .events = POLLIN },
				   { .fd = pidfd, .events = POLLIN } };

	for (;;) {
		unsigned char number = 0;

		if (poll(polled, 2, -1) < 0 && errno != EINTR)
			break;
		if (polled[1].revents)
			return;
		if (!polled[0].revents)
			continue;
		if (recv(KODA_STAGE2_LIFE_FD, &number, 1, 0) != 1)
			break;
		(void)!send(bond, &number, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
	}
	(void)syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0);
	polled[0].fd = -1;
	while (poll(polled, 2, -1) < 0 && errno == EINTR)
		;
}

void koda_bwrap_guard(void)
{
	struct inside_go go = { .cgroup = false };
	struct started started;
	struct plan plan;
	int plan_fd;
	int pidfd;

	if (!koda_guardian_wait_for_plan())
		return;
	plan_fd = park(KODA_STAGE2_PLAN_FD, PARKED);
	plan = koda_plan_load();
	koda_hold_all(&plan);
	note_fleeting(&plan);
	started = start(&plan, plan_fd, &go.cgroup);
	/* The command's streams must end when the command does, not when we do. */
	for (int fd = 0; fd <= 2; fd++)
		(void)close(fd);
	pidfd = meet(&started);
	koda_check_tell_namespaces(go.outside);
	if (pidfd >= 0 && send(started.bond, &go, sizeof(go), MSG_NOSIGNAL) == (ssize_t)sizeof(go))
		watch(pidfd, started.bond);
	else
		(void)kill(started.pid, SIGKILL); /* what is inside goes with it */
	while (waitpid(started.pid, NULL, 0) < 0 && errno == EINTR)
		;
	(void)undo_fleeting();
}
