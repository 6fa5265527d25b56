/* SPDX-License-Identifier: MIT */
/*
 * T-49. Bubblewrap is executed by the descriptor that the runner has examined, with no environment,
 * and in a private mount namespace if the guardian may make one. Its stderr is a memfd: it goes to
 * the runner if bubblewrap fails, and never to the command's streams.
 */
#include "guardian/bwrap_start.h"

#include "fail.h"
#include "guardian/await.h"
#include "sys.h"
#include "wire/bwrap.h"
#include "wire/report.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/socket.h>

#define STACK_SIZE ((size_t)64 << 10)

/* Above every number that bubblewrap is given. */
#define PARKED (KODA_INSIDE_NOTHING + KODA_NOTHING_MAX)

/* Descriptors and arguments of a bubblewrap that is about to be started. */
struct bwrap_args {
	char *part; /* argument of the launcher that runs inside */
	int plan;
	int args;
	int errors;
	int init_pipe;
	int files[KODA_FILES_MAX]; /* memfds with the contents of files */
	int file_count;
	int nothing; /* how many descriptors of /dev/null are needed */
};

int stage2_bwrap_start_park(int fd)
{
	int parked = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, PARKED);

	if (parked < 0)
		stage2_fail(KODA_LAUNCH_KEEP_FD, "", errno);
	return parked;
}

static void place(int fd, int number)
{
	if (dup2(fd, number) < 0)
		stage2_fail(KODA_LAUNCH_PLACE_FD, "", errno);
}

/* T-25. Bubblewrap's mounts receive propagation from the mount namespace it starts in. Root can
 * unshare a private one; other users get one inside, if at all. */
static void leave_mounts(void)
{
	if (unshare(CLONE_NEWNS) == 0 && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		stage2_fail(KODA_LAUNCH_PRIVATE_MOUNTS, "/", errno);
}

static _Noreturn void become_bubblewrap(const struct bwrap_args *args)
{
	static char name[] = "bwrap";
	static char option[] = "--args";
	static char args_number[] = "10";
	static char self[] = "/proc/self/fd/9";
	char *const argv[] = { name, option, args_number, self, args->part, NULL };
	char *const envp[] = { NULL };
	int program = stage2_bwrap_start_park(KODA_BWRAP_PROGRAM_FD);
	int nothing = stage2_bwrap_start_park(open("/dev/null", O_RDWR | O_CLOEXEC));
	int from[KODA_INSIDE_NOTHING];

	_Static_assert(KODA_INSIDE_ARGS == 10 && KODA_INSIDE_SELF == 9, "as in the arguments");
	leave_mounts();
	from[0] = from[1] = nothing;
	from[2] = stage2_bwrap_start_park(args->errors);
	from[KODA_INSIDE_PLAN] = stage2_bwrap_start_park(args->plan);
	from[KODA_INSIDE_STATUS] = stage2_bwrap_start_park(KODA_STAGE2_STATUS_FD);
	from[KODA_INSIDE_INIT_PIPE] = stage2_bwrap_start_park(args->init_pipe);
	for (int i = 0; i < 3; i++)
		from[KODA_INSIDE_STREAMS + i] = stage2_bwrap_start_park(i);
	from[KODA_INSIDE_SELF] =
		stage2_bwrap_start_park(open("/proc/self/exe", O_PATH | O_CLOEXEC));
	from[KODA_INSIDE_ARGS] = stage2_bwrap_start_park(args->args);
	for (int i = 0; i < args->file_count; i++)
		from[KODA_INSIDE_FILES + i] = stage2_bwrap_start_park(args->files[i]);
	for (int i = 0; i < KODA_INSIDE_FILES + args->file_count; i++)
		place(from[i], i);
	for (int i = 0; i < args->nothing; i++)
		place(nothing, KODA_INSIDE_NOTHING + i);
	(void)syscall(SYS_execveat, program, "", argv, envp, AT_EMPTY_PATH);
	stage2_fail(KODA_LAUNCH_BWRAP_EXECUTE, "", errno);
}

static int make_memory(const char *name)
{
	int fd = (int)syscall(SYS_memfd_create, name, 1U /* MFD_CLOEXEC */);

	if (fd < 0)
		stage2_fail(KODA_LAUNCH_BWRAP_MEMFD, name, errno);
	return fd;
}

static int become(void *context)
{
	become_bubblewrap(context);
}

/* Until execveat the child shares the guardian's memory (CLONE_VM), on a stack of its own. */
static struct bwrap_process start(struct bwrap_args *args)
{
	static char stack[STACK_SIZE] __attribute__((aligned(16)));
	struct bwrap_process bwrap;
	int init_pipe[2];
	const int on = 1;

	args->errors = bwrap.errors = make_memory("koda-errors");
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, init_pipe) < 0 ||
	    setsockopt(init_pipe[0], SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) < 0)
		stage2_fail(KODA_LAUNCH_BWRAP_SOCKET, "", errno);
	args->init_pipe = init_pipe[1];
	bwrap.pid = clone(become, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | SIGCHLD, args);
	if (bwrap.pid < 0)
		stage2_fail(KODA_LAUNCH_BWRAP_START, "", errno);
	(void)close(init_pipe[1]);
	stage2_await_started(bwrap.pid);
	bwrap.pidfd = (int)syscall(SYS_pidfd_open, bwrap.pid, 0);
	if (bwrap.pidfd < 0)
		stage2_fail(KODA_LAUNCH_BWRAP_PIDFD, "", errno);
	bwrap.init_pipe = init_pipe[0];
	return bwrap;
}

struct bwrap_process stage2_bwrap_start_bare(int plan_fd)
{
	static char part[] = KODA_STAGE2_INSIDE;
	struct bwrap_args args = { .part = part, .plan = plan_fd, .args = KODA_BWRAP_START_FD };

	return start(&args);
}

/* Returns the arguments for the whole view, with memfds for the files that they name. */
static struct bwrap_args view_args(const struct plan *plan, int plan_fd)
{
	static char part[] = KODA_STAGE2_VIEWER;
	struct bwrap_args args = { .part = part, .plan = plan_fd, .args = KODA_BWRAP_ARGS_FD };
	struct koda_op op;
	size_t at = 0;

	while (koda_ops_next(plan->bytes, &at, &op)) {
		int fd;

		args.nothing += koda_bwrap_masks_file(&op) && args.nothing < KODA_NOTHING_MAX;
		if (op.kind != KODA_OP_FILE)
			continue;
		fd = make_memory("koda-data");
		if (args.file_count == KODA_FILES_MAX ||
		    pwrite(fd, op.text2.ptr, op.text2.len, 0) != (ssize_t)op.text2.len)
			stage2_fail(KODA_LAUNCH_BWRAP_FILE, op.text1.ptr, errno);
		args.files[args.file_count++] = fd;
	}
	return args;
}

struct bwrap_process stage2_bwrap_start_view(const struct plan *plan, int plan_fd)
{
	struct bwrap_args args = view_args(plan, plan_fd);
	struct bwrap_process bwrap = start(&args);

	for (int i = 0; i < args.file_count; i++)
		(void)close(args.files[i]);
	return bwrap;
}
