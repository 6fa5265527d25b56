/* SPDX-License-Identifier: MIT */
/* Other processes and their memory, by tracing. */
#include "probe.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

static int result(long r)
{
	return r < 0 ? errno : 0;
}

/* Stops a process that somebody else started; let_go has it go on. */
static int hold(pid_t pid)
{
	if (ptrace(PTRACE_ATTACH, pid, NULL, NULL) < 0)
		return errno;
	return waitpid(pid, NULL, __WALL) == pid ? 0 : errno;
}

static void let_go(pid_t pid)
{
	(void)ptrace(PTRACE_DETACH, pid, NULL, NULL);
}

/* Seizing does not stop it, and ends with this process. */
static int trace(pid_t pid)
{
	int error = result(ptrace(PTRACE_SEIZE, pid, NULL, NULL));

	if (error)
		error = hold(pid);
	let_go(pid);
	return error;
}

static int try_trace(char **arg)
{
	return trace((pid_t)probe_number(arg[0]));
}

/* Who started PID; 0 if nobody did, or nobody tells. */
static pid_t parent_of(pid_t pid)
{
	char path[64];
	FILE *file;
	int parent = 0;

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	file = fopen(path, "re");
	if (!file)
		return 0;
	if (fscanf(file, "%*d (%*[^)]) %*c %d", &parent) != 1)
		parent = 0;
	(void)fclose(file);
	return (pid_t)parent;
}

/* Whoever started us, and whoever started that. */
static int trace_parents(char **arg)
{
	int error = ESRCH;

	(void)arg;
	for (pid_t pid = getppid(); pid > 0 && error; pid = parent_of(pid))
		error = trace(pid);
	return error;
}

/* A child of one's own is the easiest victim there is. */
static int with_child(int (*act)(pid_t pid, void *address))
{
	static long secret = 42;
	int end[2];
	pid_t pid;
	int error;
	char byte;

	if (pipe2(end, O_CLOEXEC) < 0)
		return errno;
	pid = fork();
	if (pid == 0) {
		(void)close(end[1]);
		(void)!read(end[0], &byte, 1); /* until the parent is done */
		_exit(0);
	}
	error = pid < 0 ? errno : act(pid, &secret);
	(void)close(end[1]);
	(void)close(end[0]);
	if (pid > 0)
		(void)waitpid(pid, NULL, 0);
	return error;
}

static int vm_read(pid_t pid, void *address)
{
	char copy[4];
	struct iovec local = { copy, sizeof(copy) };
	struct iovec remote = { address, sizeof(copy) };

	return result(process_vm_readv(pid, &local, 1, &remote, 1, 0));
}

static int seize(pid_t pid, void *address)
{
	(void)address;
	return result(ptrace(PTRACE_SEIZE, pid, NULL, NULL));
}

static int read_registers(pid_t pid, struct user_regs_struct *regs)
{
	struct iovec part = { regs, sizeof(*regs) };

	return result(ptrace(PTRACE_GETREGSET, pid, (void *)NT_PRSTATUS, &part));
}

/* Reads what a child that stands still has in its registers. */
static int look(pid_t pid, void *address)
{
	struct user_regs_struct regs;
	int error = hold(pid);

	(void)address;
	if (error)
		return error;
	error = read_registers(pid, &regs);
	let_go(pid);
	return error;
}

/* Everything that changes a child which stands still, or reads its memory: 0 if any of it works. */
static int change(pid_t pid, void *address)
{
	struct user_regs_struct regs = { 0 };
	struct iovec part = { &regs, sizeof(regs) };
	int error = hold(pid);

	if (error)
		return error;
	(void)read_registers(pid, &regs);
	error = result(ptrace(PTRACE_POKEDATA, pid, address, 43L));
	if (error) {
		errno = 0;
		(void)ptrace(PTRACE_PEEKDATA, pid, address, NULL);
		error = errno;
	}
	if (error)
		error = result(ptrace(PTRACE_SETREGSET, pid, (void *)NT_PRSTATUS, &part));
	if (error)
		error = result(ptrace(PTRACE_SETOPTIONS, pid, NULL, (void *)PTRACE_O_TRACEFORK));
	if (error)
		error = result(ptrace(PTRACE_SYSCALL, pid, NULL, NULL));
	let_go(pid);
	return error;
}

static int try_vm_read(char **arg)
{
	(void)arg;
	return with_child(vm_read);
}

static int try_seize(char **arg)
{
	(void)arg;
	return with_child(seize);
}

static int try_look(char **arg)
{
	(void)arg;
	return with_child(look);
}

static int try_change(char **arg)
{
	(void)arg;
	return with_child(change);
}

static int try_be_traced(char **arg)
{
	(void)arg;
	return result(ptrace(PTRACE_TRACEME, 0, NULL, NULL));
}

/* Ends, traced by a process that says nothing of it for so many seconds. */
static int try_end_traced(char **arg)
{
	pid_t self = getpid();
	int ready[2];
	char byte;

	if (pipe2(ready, O_CLOEXEC) < 0)
		return errno;
	if (fork() == 0) {
		int error = hold(self);

		if (error == 0 && ptrace(PTRACE_CONT, self, NULL, NULL) == 0 &&
		    write(ready[1], "", 1) == 1)
			(void)sleep((unsigned int)probe_number(arg[0]));
		_exit(0);
	}
	(void)close(ready[1]);
	if (read(ready[0], &byte, 1) != 1)
		return EPERM;
	_exit(7);
}

const struct probe_entry probe_trace_acts[] = {
	{ "ptrace", 1, try_trace },
	{ "ptrace-parents", 0, trace_parents },
	{ "ptrace-child", 0, try_seize },
	{ "ptrace-look", 0, try_look },
	{ "ptrace-change", 0, try_change },
	{ "ptrace-me", 0, try_be_traced },
	{ "vm-read", 0, try_vm_read },
	{ "end-traced", 1, try_end_traced },
	{ NULL, 0, NULL },
};
