/* SPDX-License-Identifier: MIT */
/*
 * The last process: locks itself down and becomes the command. Until then it lives in init's
 * memory, on a stack of its own, and init waits: there is nothing to copy.
 */
#include "stage2.h"

#include "sys.h"
#include "wire/report.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define STACK_SIZE ((size_t)128 << 10)

/* NULL-terminated texts of all ops of a kind. */
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
		koda_stage2_fail("out of memory", "", ENOMEM);
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
	(void)koda_report_send(KODA_REPORT_EXEC_FAILED, 0, sys_errno, "", file);
	_exit(sys_errno == ENOENT ? 127 : 126);
}

/* Text has no NUL in its first line; a program for another machine has. */
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

/* sh, the script, its arguments. Made while signals are blocked: from then on this process may end
 * at any moment, and the memory that it allocates from is init's. */
static char **script;

static void prepare_script(char *const argv[])
{
	static char shell[] = "sh";
	size_t count = 0;

	while (argv[count])
		count++;
	script = calloc(count + 2, sizeof(*script));
	if (!script)
		koda_stage2_fail("out of memory", "", ENOMEM);
	script[0] = shell;
	if (count > 1)
		memcpy(script + 2, argv + 1, (count - 1) * sizeof(*script));
}

/* Returns with errno if it cannot be executed. As shells do, what the kernel does not know but is
 * text is a script for sh. */
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

/* The kernel's word for a file that is there but names an interpreter, or a loader, that is not is
 * the same as for one that is not there. */
static int tell_apart(const char *path, int error)
{
	struct stat st;

	return error == ENOENT && stat(path, &st) == 0 ? ELIBACC : error;
}

/* As a shell looks: every directory of PATH; a file that is there but cannot be executed is
 * remembered over one that is not there. */
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
			/* A directory that cannot be searched is not a file that cannot be run. */
			if (error != ENOENT && error != ENOTDIR && stat(full, &st) == 0)
				best = error;
		}
		path += len;
		path += *path == ':';
	}
	exec_failed(file, best);
}

void koda_command_begin(void)
{
	if (setsid() < 0)
		koda_stage2_fail("start a session", "", errno);
	koda_lock_privileges();
}

void koda_command_settle(const struct plan *plan)
{
	struct koda_op op;
	size_t at = 0;

	koda_terminal_control(plan);
	while (koda_ops_next(plan->bytes, &at, &op))
		if (op.kind == KODA_OP_CWD && chdir(op.text1.ptr) < 0)
			koda_stage2_fail("enter", op.text1.ptr, errno);
	koda_lock_limits(plan);
}

_Noreturn void koda_command_become(const struct plan *plan)
{
	char **args = collect(plan, KODA_OP_ARG);
	char **env = collect(plan, KODA_OP_ENV);
	sigset_t none;

	if (!args[0] || !args[1])
		koda_stage2_fail("the plan names no command", "", 0);
	prepare_script(args + 1);
	if (syscall(SYS_close_range, 3, ~0U, 4U /* CLOSE_RANGE_CLOEXEC */) < 0)
		koda_stage2_fail("close descriptors", "", errno);
	koda_handed_give();
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	exec_search(args[0], args + 1, env);
}

static int become(void *context)
{
	const struct plan *plan = context;

	koda_command_begin();
	koda_command_settle(plan);
	koda_lock_enter(koda_lock_rules(plan));
	koda_lock_filter(plan);
	koda_check_locked(plan);
	koda_command_become(plan);
}

int koda_command_hold(pid_t command)
{
	int pidfd = (int)syscall(SYS_pidfd_open, command, 0);

	if (pidfd < 0)
		koda_stage2_fail("hold on to the command", "", errno);
	return pidfd;
}

pid_t koda_command_start(const struct plan *plan)
{
	static char stack[STACK_SIZE] __attribute__((aligned(16)));
	pid_t pid = clone(become, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | SIGCHLD,
			  (void *)(uintptr_t)plan);

	if (pid < 0)
		koda_stage2_fail("start the command's process", "", errno);
	/* It had our memory until then. What it ended with must not pass for a command's status. */
	if (*koda_failed)
		koda_stage2_leave();
	return pid;
}
