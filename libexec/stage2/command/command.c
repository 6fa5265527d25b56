/* SPDX-License-Identifier: MIT */
/*
 * The process that locks itself down and becomes the command. Until execve it shares init's memory
 * (CLONE_VM), on a stack of its own, and init waits (CLONE_VFORK): nothing is copied. With reports
 * init must not wait that long, and the process has a copy.
 */
#include "command/command.h"

#include "command/check.h"
#include "command/lock.h"
#include "command/passed_fds.h"
#include "fail.h"
#include "init/terminal.h"
#include "pathcall/reporter.h"
#include "report.h"
#include "sys.h"
#include "wire/report.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define STACK_SIZE ((size_t)128 << 10)

/* Returns the texts of all ops of a kind, NULL-terminated. */
static char **collect(const struct plan *plan, enum koda_op_kind kind)
{
	struct koda_op op;
	size_t count = 0;
	size_t at = 0;
	char **list;

	while (koda_ops_next(plan->bytes, &at, &op))
		count += op.kind == kind;
	list = calloc(count + 1, sizeof(*list));
	if (!list)
		stage2_fail(KODA_LAUNCH_MEMORY, "", ENOMEM);
	count = 0;
	for (at = 0; koda_ops_next(plan->bytes, &at, &op);)
		if (op.kind == kind)
			list[count++] = (char *)(uintptr_t)op.text1.ptr;
	return list;
}

static const char *value_of(char *const env[], const char *name)
{
	size_t len = strlen(name);

	for (; *env; env++)
		if (strncmp(*env, name, len) == 0 && (*env)[len] == '=')
			return *env + len + 1;
	return NULL;
}

static _Noreturn void exec_failed(const char *file, int sys_errno)
{
	(void)stage2_report_fail(KODA_REPORT_EXEC_FAILED, KODA_LAUNCH_NONE, file, sys_errno);
	_exit(sys_errno == ENOENT ? 127 : 126);
}

/* Returns true if the first line has no NUL; a program for another machine has one. */
static bool is_text(const char *path)
{
	char start[256];
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, start, sizeof(start));
	const char *end = n > 0 ? memchr(start, '\n', (size_t)n) : NULL;

	if (fd >= 0)
		(void)close(fd);
	return n >= 0 && !memchr(start, '\0', end ? (size_t)(end - start) : (size_t)n);
}

/* sh, the script, its arguments. Made while signals are blocked: after that a signal may end this
 * process at any moment, and the allocator's memory is init's. */
static char **script;

static void prepare_script(char *const argv[])
{
	static char shell[] = "sh";
	size_t count = 0;

	while (argv[count])
		count++;
	script = calloc(count + 2, sizeof(*script));
	if (!script)
		stage2_fail(KODA_LAUNCH_MEMORY, "", ENOMEM);
	script[0] = shell;
	if (count > 1)
		memcpy(script + 2, argv + 1, (count - 1) * sizeof(*script));
}

/* Executes a file; returns with errno. As in shells, a text file that the kernel does not recognise
 * (ENOEXEC) is a script for sh. */
static void exec_file(const char *path, char *const argv[], char *const env[])
{
	(void)execve(path, argv, env);
	if (errno != ENOEXEC)
		return;
	if (is_text(path)) {
		script[1] = (char *)(uintptr_t)path;
		(void)execve("/bin/sh", script, env);
	}
	errno = ENOEXEC;
}

/* Tells a missing interpreter or loader from a missing file: execve returns ENOENT for both. */
static int tell_apart(const char *path, int error)
{
	struct stat st;

	return error == ENOENT && stat(path, &st) == 0 ? ELIBACC : error;
}

/* Searches PATH as a shell does. A file that cannot be executed counts more than one that does not
 * exist. */
static _Noreturn void exec_search(const char *file, char *const argv[], char *const env[])
{
	const char *path = value_of(env, "PATH");
	int best = ENOENT;
	struct stat st;
	char full[4096];
	int error;

	if (!*file)
		exec_failed(file, ENOENT);
	if (strchr(file, '/')) {
		exec_file(file, argv, env);
		exec_failed(file, tell_apart(file, errno));
	}
	for (path = path ? path : "/usr/local/bin:/usr/bin:/bin"; *path;) {
		size_t len = strcspn(path, ":");
		size_t name = strlen(file) + 1;

		if (len + 1 + name <= sizeof(full)) {
			memcpy(full, path, len);
			full[len] = '/';
			/* An empty entry is the working directory. */
			memcpy(full + len + (len > 0), file, name);
			exec_file(full, argv, env);
			error = tell_apart(full, errno);
			/* EACCES of a directory does not mean that the file exists. */
			if (error != ENOENT && error != ENOTDIR && stat(full, &st) == 0)
				best = error;
		}
		path += len;
		path += *path == ':';
	}
	exec_failed(file, best);
}

void stage2_command_begin(void)
{
	if (setsid() < 0)
		stage2_fail(KODA_LAUNCH_COMMAND_SESSION, "", errno);
	stage2_lock_privileges();
}

void stage2_command_prepare(const struct plan *plan)
{
	struct koda_op op;
	size_t at = 0;

	stage2_terminal_control(plan);
	while (koda_ops_next(plan->bytes, &at, &op))
		if (op.kind == KODA_OP_CWD && chdir(op.text1.ptr) < 0)
			stage2_fail(KODA_LAUNCH_COMMAND_CWD, op.text1.ptr, errno);
	stage2_lock_limits(plan);
}

_Noreturn void stage2_command_become(const struct plan *plan)
{
	char **args = collect(plan, KODA_OP_ARG);
	char **env = collect(plan, KODA_OP_ENV);
	sigset_t none;

	if (!args[0] || !args[1])
		stage2_fail(KODA_LAUNCH_PLAN_COMMAND, "", 0);
	prepare_script(args + 1);
	if (syscall(SYS_close_range, 3, ~0U, 4U /* CLOSE_RANGE_CLOEXEC */) < 0)
		stage2_fail(KODA_LAUNCH_CLOSE_FDS, "", errno);
	stage2_passed_fds_give();
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	exec_search(args[0], args + 1, env);
}

static int become(void *context)
{
	const struct plan *plan = context;

	stage2_command_begin();
	stage2_command_prepare(plan);
	stage2_lock_enter(stage2_lock_rules(plan));
	stage2_lock_filter(plan);
	stage2_check_locked(plan);
	stage2_reporter_hand_over(plan);
	stage2_command_become(plan);
}

int stage2_command_hold(pid_t command)
{
	int pidfd = (int)syscall(SYS_pidfd_open, command, 0);

	if (pidfd < 0)
		stage2_fail(KODA_LAUNCH_COMMAND_PIDFD, "", errno);
	return pidfd;
}

pid_t stage2_command_start(const struct plan *plan, int *ret_pidfd)
{
	static char stack[STACK_SIZE] __attribute__((aligned(16)));
	bool reports = stage2_reporter_start(plan);
	/* CLONE_PIDFD and not pidfd_open(): that could fail when the program runs already. */
	const int flags = CLONE_PIDFD | SIGCHLD | (reports ? 0 : CLONE_VM | CLONE_VFORK);
	pid_t pid = clone(become, stack + sizeof(stack), flags, (void *)(uintptr_t)plan, ret_pidfd);

	if (pid < 0)
		stage2_fail(KODA_LAUNCH_COMMAND_START, "", errno);
	if (reports && !stage2_reporter_receive())
		stage2_fail_silently();
	/* The process had init's memory until then. If it failed, its exit status must not pass for
	 * the command's. */
	if (*stage2_fail_flag)
		stage2_fail_silently();
	return pid;
}
