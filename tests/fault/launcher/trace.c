/* SPDX-License-Identifier: MIT */
#include "trace.h"

#include "registers.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

/* linux/ptrace.h and sys/ptrace.h do not go together. */
#define GET_SYSCALL_INFO 0x420e
#define OP_ENTRY         1
#define OP_EXIT          2

struct syscall_info {
	uint8_t op;
	uint8_t pad[3];
	uint32_t arch;
	uint64_t instruction_pointer;
	uint64_t stack_pointer;
	uint64_t nr; /* on entry */
	uint64_t args[6];
};

/* How long a run may take, and what is left of it after the runner's end. */
#define RUN_SECS  20
#define LEFT_SECS 5

#define TRACEES_MAX 64

/* The roles of processes as they are born; some change with an exec. */
static const enum trace_role births[] = { TRACE_RUNNER, TRACE_SPAWN, TRACE_INIT, TRACE_COMMAND,
					  TRACE_ROLES };
static const enum trace_role bwrap_births[] = { TRACE_RUNNER,     TRACE_SPAWN,   TRACE_BUBBLEWRAP,
						TRACE_NAMESPACED, TRACE_NETWORK, TRACE_COMMAND,
						TRACE_ROLES };

struct tracee {
	pid_t pid;
	int role;     /* TRACE_ROLES: nobody of interest */
	bool failing; /* the call it is in was replaced */
};

struct tracer {
	const struct trace_fault *fault;
	struct trace_result *result;
	struct tracee tracees[TRACEES_MAX];
	size_t count;
	pid_t ended[TRACEES_MAX]; /* the last that have ended, in a ring */
	size_t ended_count;
	const enum trace_role *next; /* role of the next process; TRACE_ROLES: of all others */
	enum trace_shape shape;
	pid_t runner;
	bool started; /* the runner has become koda-sandbox */
	bool runner_gone;
};

static volatile sig_atomic_t rang;

static void ring(int number)
{
	(void)number;
	rang = 1;
}

/* TRACE_ROLES: not one of those that are followed. */
static int role_of(const struct tracer *t, pid_t pid)
{
	for (size_t i = 0; i < t->count; i++)
		if (t->tracees[i].pid == pid)
			return t->tracees[i].role;
	return TRACE_ROLES;
}

/* The role of its parent. A thread has the parent of its process. */
static int role_of_parent(const struct tracer *t, pid_t pid)
{
	char path[64];
	FILE *stat;
	int parent = 0;

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	stat = fopen(path, "re");
	if (stat && fscanf(stat, "%*d (%*[^)]) %*c %d", &parent) != 1)
		parent = 0;
	if (stat)
		(void)fclose(stat);
	return role_of(t, parent);
}

/* Whose child a process of this role is. The runner is first, whoever comes last is nobody. */
static const enum trace_role above[] = {
	[TRACE_RUNNER] = TRACE_ROLES,          [TRACE_SPAWN] = TRACE_RUNNER,
	[TRACE_GUARDIAN] = TRACE_ROLES,        [TRACE_BUBBLEWRAP] = TRACE_GUARDIAN,
	[TRACE_NAMESPACED] = TRACE_BUBBLEWRAP, [TRACE_INIT] = TRACE_GUARDIAN,
	[TRACE_NETWORK] = TRACE_INIT,          [TRACE_COMMAND] = TRACE_INIT,
	[TRACE_ROLES] = TRACE_ROLES,
};

static struct tracee *tracee_of(struct tracer *t, pid_t pid)
{
	enum trace_role role;

	for (size_t i = 0; i < t->count; i++)
		if (t->tracees[i].pid == pid)
			return &t->tracees[i];
	if (t->count == TRACEES_MAX)
		return NULL;
	role = *t->next;
	if (role != TRACE_RUNNER && role_of_parent(t, pid) != (int)above[role])
		role = TRACE_ROLES;
	t->tracees[t->count] = (struct tracee){ .pid = pid, .role = (int)role };
	if (role != TRACE_ROLES)
		t->next++;
	return &t->tracees[t->count++];
}

static void forget(struct tracer *t, pid_t pid)
{
	for (size_t i = 0; i < t->count; i++)
		if (t->tracees[i].pid == pid)
			t->tracees[i] = t->tracees[--t->count];
	t->ended[t->ended_count++ % TRACEES_MAX] = pid;
}

/* A child does not wait for its parent's stop at fork(): it may have ended when that is seen. */
static bool has_ended(const struct tracer *t, pid_t pid)
{
	for (size_t i = 0; i < TRACEES_MAX; i++)
		if (t->ended[i] == pid)
			return true;
	return false;
}

static bool is_due(const struct tracer *t, const struct tracee *tracee, long nr)
{
	if (t->fault && t->fault->may_fail && !t->fault->may_fail(t->fault, nr))
		return false;
	return t->fault && !t->result->fired && (int)t->fault->role == tracee->role &&
	       t->result->count[tracee->role] == t->fault->nth;
}

/* For whoever reads of a failure; nothing if the process cannot be looked into. */
static void read_path(pid_t pid, const struct syscall_info *info, char *out, size_t size)
{
	struct iovec here = { out, size - 1 };
	struct iovec there = { (void *)(uintptr_t)info->args[1], size - 1 };

	if (info->nr == SYS_openat || info->nr == SYS_openat2 || info->nr == SYS_newfstatat ||
	    info->nr == SYS_readlinkat)
		(void)!process_vm_readv(pid, &here, 1, &there, 1, 0);
}

/* Whoever is traced can be read word by word, dumpable or not. */
static void note_scratch(pid_t pid, const struct syscall_info *info, char *out, size_t size)
{
	static const char parent[] = "/tmp/koda-";
	uint64_t from = info->nr == SYS_mkdirat ? info->args[1] : info->args[0];

#ifdef SYS_mkdir
	if (info->nr != SYS_mkdirat && info->nr != SYS_mkdir)
		return;
#else
	if (info->nr != SYS_mkdirat)
		return;
#endif
	for (size_t at = 0; at + sizeof(long) < size; at += sizeof(long)) {
		long word = ptrace(PTRACE_PEEKDATA, pid, (void *)(uintptr_t)(from + at), NULL);

		memcpy(out + at, &word, sizeof(word));
	}
	out[size - 1] = '\0';
	if (strncmp(out, parent, sizeof(parent) - 1) != 0)
		out[0] = '\0';
}

static bool at_entry(struct tracer *t, struct tracee *tracee, const struct syscall_info *info)
{
	struct trace_result *result = t->result;
	long nr = (long)info->nr;

	if (tracee->role == TRACE_GUARDIAN && !result->scratch[0])
		note_scratch(tracee->pid, info, result->scratch, sizeof(result->scratch));
	if (tracee->role >= TRACE_ROLES || result->executed || !t->started)
		return true;
	if (result->count[tracee->role] == TRACE_CALLS_MAX)
		return false;
	result->calls[tracee->role][result->count[tracee->role]++] = (short)nr;
	if (!is_due(t, tracee, nr))
		return true;
	result->fired = true;
	result->fired_nr = nr;
#ifdef SYS_lstat
	/* As glibc has it; with musl lstat() is a call of its own. */
	if (tracee->role == TRACE_GUARDIAN && nr == SYS_newfstatat &&
	    (int)info->args[0] == AT_FDCWD)
		result->fired_nr = SYS_lstat;
#endif
	read_path(tracee->pid, info, result->fired_path, sizeof(result->fired_path));
	if (t->fault->error == 0)
		return kill(tracee->pid, SIGKILL) == 0;
	tracee->failing = true;
	return registers_replace_call(tracee->pid);
}

static bool at_syscall(struct tracer *t, struct tracee *tracee)
{
	struct syscall_info info;
	bool ok = true;

	if (ptrace(GET_SYSCALL_INFO, tracee->pid, sizeof(info), &info) <= 0)
		return errno == ESRCH;
	if (info.op == OP_ENTRY) {
		ok = at_entry(t, tracee, &info);
	} else if (info.op == OP_EXIT && tracee->failing) {
		tracee->failing = false;
		ok = registers_set_return(tracee->pid, t->fault->error);
	}
	return ok || errno == ESRCH;
}

/* Only who may still meet the fault is stopped at its calls: stops are what takes the time. */
static bool is_watched(const struct tracer *t, const struct tracee *tracee)
{
	if (tracee->failing)
		return true;
	/* It is where something is made that must not be left. */
	if (t->shape == TRACE_LANDLOCK && tracee->role == TRACE_GUARDIAN && !t->result->scratch[0])
		return true;
	return !t->result->executed && !t->result->fired &&
	       (!t->fault || (int)t->fault->role == tracee->role);
}

static bool at_stop(struct tracer *t, struct tracee *tracee, int status)
{
	int signal = WSTOPSIG(status);
	int event = status >> 16;
	unsigned long born = 0;
	bool ok = true;

	if (signal == (SIGTRAP | 0x80)) {
		ok = at_syscall(t, tracee);
	} else if (event == PTRACE_EVENT_FORK || event == PTRACE_EVENT_VFORK ||
		   event == PTRACE_EVENT_CLONE) {
		ok = ptrace(PTRACE_GETEVENTMSG, tracee->pid, NULL, &born) == 0 &&
		     (has_ended(t, (pid_t)born) || tracee_of(t, (pid_t)born));
	} else if (event == PTRACE_EVENT_EXEC) {
		t->started = true;
		t->result->starts += role_of_parent(t, tracee->pid) == TRACE_RUNNER;
		if (tracee->role == TRACE_SPAWN)
			tracee->role = TRACE_GUARDIAN;
		else if (tracee->role == TRACE_NAMESPACED)
			tracee->role = TRACE_INIT;
		t->result->executed = t->result->executed || tracee->role == TRACE_COMMAND;
	}
	if (signal == (SIGTRAP | 0x80) || event)
		signal = 0;
	(void)ptrace(is_watched(t, tracee) ? PTRACE_SYSCALL : PTRACE_CONT, tracee->pid, NULL,
		     (void *)(uintptr_t)signal);
	return ok;
}

static void end_all(const struct tracer *t)
{
	for (size_t i = 0; i < t->count; i++)
		(void)kill(t->tracees[i].pid, SIGKILL);
}

static void took_too_long(struct tracer *t)
{
	rang = 0;
	if (t->runner_gone)
		t->result->left = (unsigned int)t->count;
	else
		t->result->late = true;
	end_all(t);
	(void)alarm(LEFT_SECS);
}

static bool follow(struct tracer *t)
{
	bool ok = true;

	while (t->count > 0) {
		int status;
		pid_t pid = waitpid(-1, &status, __WALL);

		if (pid < 0 && errno == EINTR && rang) {
			took_too_long(t);
			continue;
		}
		if (pid < 0)
			return ok && errno == ECHILD;
		if (WIFSTOPPED(status)) {
			struct tracee *tracee = tracee_of(t, pid);

			ok = tracee && at_stop(t, tracee, status) && ok;
			continue;
		}
		if (role_of(t, pid) == TRACE_GUARDIAN)
			t->result->launcher = status;
		forget(t, pid);
		if (pid == t->runner) {
			t->runner_gone = true;
			t->result->status = status;
			(void)alarm(LEFT_SECS);
		}
	}
	return ok;
}

static _Noreturn void become(char *const argv[], char *const envp[], const int given[4], int gate)
{
	char byte;

	for (int i = 0; i < 4; i++)
		if (dup2(given[i], i) < 0)
			_exit(99);
	if (read(gate, &byte, 1) == 1)
		(void)execve(argv[0], argv, envp);
	_exit(99);
}

bool trace_run(enum trace_shape shape, char *const argv[], char *const envp[], const int given[4],
	       const struct trace_fault *fault, struct trace_result *ret_result)
{
	const long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
			     PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL;
	struct tracer t = { .fault = fault,
			    .result = ret_result,
			    .shape = shape,
			    .next = shape == TRACE_BWRAP ? bwrap_births : births };
	int gate[2];
	bool ok;

	memset(ret_result, 0, sizeof(*ret_result));
	(void)sigaction(SIGALRM, &(struct sigaction){ .sa_handler = ring }, NULL);
	if (pipe2(gate, O_CLOEXEC) < 0)
		return false;
	t.runner = fork();
	if (t.runner == 0)
		become(argv, envp, given, gate[0]);
	ok = t.runner > 0 && tracee_of(&t, t.runner) &&
	     ptrace(PTRACE_SEIZE, t.runner, NULL, (void *)options) == 0 &&
	     ptrace(PTRACE_INTERRUPT, t.runner, NULL, NULL) == 0 && write(gate[1], "", 1) == 1;
	(void)close(gate[0]);
	(void)close(gate[1]);
	(void)alarm(RUN_SECS);
	if (!ok && t.runner > 0)
		(void)kill(t.runner, SIGKILL);
	ok = follow(&t) && ok;
	(void)alarm(0);
	return ok;
}
