/* SPDX-License-Identifier: MIT */
#include "calls.h"

#include <errno.h>
#include <stdio.h>
#include <sys/syscall.h>

#define CALL(name)                                                                                 \
	{                                                                                          \
		SYS_##name, #name                                                                  \
	}

/* clang-format off */
static const struct {
	long nr;
	const char *name;
} calls[] = {
	CALL(read), CALL(write), CALL(close), CALL(fstat), CALL(mmap), CALL(munmap),
	CALL(mprotect), CALL(brk), CALL(ioctl), CALL(rt_sigaction), CALL(rt_sigprocmask),
	CALL(getpid), CALL(socket), CALL(execve), CALL(fcntl), CALL(openat), CALL(openat2),
	CALL(open_tree), CALL(move_mount), CALL(mount_setattr), CALL(fsopen), CALL(fsconfig),
	CALL(fsmount), CALL(clone), CALL(clone3), CALL(prctl), CALL(seccomp), CALL(setsid),
	CALL(chdir), CALL(umask), CALL(landlock_create_ruleset), CALL(landlock_add_rule),
	CALL(landlock_restrict_self), CALL(prlimit64), CALL(mkdirat), CALL(linkat), CALL(unlinkat),
	CALL(symlinkat), CALL(flock), CALL(dup3), CALL(close_range), CALL(pipe2),
	CALL(memfd_create), CALL(newfstatat), CALL(readlinkat), CALL(sethostname), CALL(signalfd4),
	CALL(keyctl), CALL(wait4), CALL(waitid), CALL(kill), CALL(geteuid), CALL(getegid),
	CALL(set_tid_address), CALL(setrlimit), CALL(getrlimit), CALL(pidfd_open), CALL(ftruncate),
	CALL(lseek), CALL(exit_group), CALL(rseq), CALL(getuid), CALL(getgid), CALL(uname),
	CALL(getcwd), CALL(pwrite64), CALL(rt_sigreturn), CALL(gettid), CALL(fchmod), CALL(sendto),
	CALL(madvise), CALL(statx), CALL(renameat2), CALL(utimensat), CALL(getdents64),
	CALL(fchmodat), CALL(pread64), CALL(ppoll),
#ifdef __x86_64__
	CALL(poll), CALL(fork), CALL(vfork), CALL(open), CALL(stat), CALL(readlink),
	CALL(arch_prctl), CALL(unlink), CALL(access), CALL(lstat), CALL(chmod),
#endif
};
/* clang-format on */

const char *calls_name(long nr)
{
	static char number[32];

	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (calls[i].nr == nr)
			return calls[i].name;
	(void)snprintf(number, sizeof(number), "number %ld", nr);
	return number;
}

/* The kernel has no way to let these fail, called as they are; processes are only killed at them.
 */
bool calls_can_fail(const struct trace_fault *fault, long nr)
{
	/* Of what the runner looks at, these say that it is not there. They are believed. */
	if (fault->role == TRACE_RUNNER && (fault->error == ENOENT || fault->error == EACCES))
		return false;
	/* And so is init, of what is to be hidden: a socket that is gone, a place that nobody
	 * reaches. */
	if (fault->role == TRACE_INIT && nr == SYS_openat2 &&
	    (fault->error == ENOENT || fault->error == EACCES))
		return false;
	/* Bubblewrap does not look whether its child was told to go on; the wall time ends that. */
	if (fault->role == TRACE_BUBBLEWRAP && nr == SYS_write)
		return false;
	switch (nr) {
	case SYS_close: /* lets go of the descriptor whatever it returns */
	case SYS_getpid:
	case SYS_gettid:
	case SYS_getuid:
	case SYS_geteuid:
	case SYS_getgid:
	case SYS_getegid:
	case SYS_getppid:
	case SYS_umask:
	case SYS_set_tid_address:
	case SYS_set_robust_list:
	case SYS_rseq:
	case SYS_rt_sigaction:
	case SYS_rt_sigprocmask:
	case SYS_rt_sigreturn:
	case SYS_munmap:
	case SYS_exit_group:
#ifdef SYS_arch_prctl
	case SYS_arch_prctl:
#endif
		return false;
	default:
		return true;
	}
}

/* Calls that the launch can do without, and why. */
static const struct dispensable {
	enum trace_role role;
	long nr;
	int error; /* 0: any */
	const char *why;
} dispensable[] = {
	{ TRACE_SPAWN, SYS_close_range, 0, "libc closes one by one instead" },
	{ TRACE_GUARDIAN, SYS_setsid, 0, "its signals are blocked already" },
	{ TRACE_GUARDIAN, SYS_linkat, 0, "a file of its own is made instead" },
	{ TRACE_GUARDIAN, SYS_statx, 0, "a directory is made that could have been taken" },
#ifdef SYS_lstat
	{ TRACE_GUARDIAN, SYS_lstat, 0, "a .gitignore too many is made, or a directory anew" },
#endif
	{ TRACE_GUARDIAN, SYS_brk, 0, "libc maps memory instead" },
	{ TRACE_INIT, SYS_brk, 0, "libc maps memory instead" },
	{ TRACE_COMMAND, SYS_brk, 0, "libc maps memory instead" },
	{ TRACE_GUARDIAN, SYS_fcntl, 0, "libc asks for close-on-exec a second time" },
	{ TRACE_INIT, SYS_fcntl, 0, "libc asks for close-on-exec a second time" },
	{ TRACE_COMMAND, SYS_fcntl, 0, "libc asks for close-on-exec a second time" },
	{ TRACE_GUARDIAN, SYS_prlimit64, 0, "running out of descriptors is noticed in time" },
	{ TRACE_RUNNER, SYS_recvmsg, EINTR, "it is asked again" },
	{ TRACE_INIT, SYS_read, EINTR, "it is asked again" },
	{ TRACE_INIT, SYS_wait4, EINTR, "it is asked again" },
	{ TRACE_INIT, SYS_dup3, EBUSY, "libc asks again" },
	{ TRACE_NETWORK, SYS_dup3, EBUSY, "libc asks again" },
	{ TRACE_NETWORK, SYS_dup3, ENOSYS, "libc uses the older call" },
	{ TRACE_NETWORK, SYS_socket, EINVAL, "libc asks without flags" },
	{ TRACE_INIT, SYS_mount_setattr, EBUSY, "it is asked again" },
	{ TRACE_INIT, SYS_move_mount, ENOENT, "what is to be hidden is opened again" },
	{ TRACE_INIT, SYS_dup3, ENOSYS, "libc uses the older call" },
	{ TRACE_INIT, SYS_signalfd4, ENOSYS, "libc uses the older call" },
	{ TRACE_GUARDIAN, SYS_pipe2, ENOSYS, "libc uses the older call" },
	{ TRACE_GUARDIAN, SYS_recvfrom, EINTR, "it is asked again" },
	{ TRACE_INIT, SYS_sendto, 0, "the word that it is ready; what comes later says more" },
	{ TRACE_INIT, SYS_poll, EINTR, "it is asked again" },
	{ TRACE_GUARDIAN, SYS_mmap, 0, "libc's allocator has another way; the plan's map counts" },
	{ TRACE_INIT, SYS_mmap, 0, "libc's allocator has another way; the plan's map counts" },
	{ TRACE_INIT, SYS_prctl, EINVAL, "the answer to the first number that is no capability" },
	{ TRACE_COMMAND, SYS_prctl, EINVAL, "the answer to the first number that is none" },
	{ TRACE_INIT, SYS_dup2, EBUSY, "libc asks again" },
	{ TRACE_COMMAND, SYS_open, EACCES, "what a canary must get" },
	{ TRACE_COMMAND, SYS_open, EPERM, "what a canary must get" },
	{ TRACE_COMMAND, SYS_openat2, ENOENT, "Landlock grants nothing there" },
	{ TRACE_COMMAND, SYS_ioctl, EPERM, "what the filter must answer" },
	{ TRACE_INIT, SYS_socket, EINVAL, "libc asks again without flags" },
	{ TRACE_INIT, SYS_socketpair, EINVAL, "libc asks again without flags" },
	{ TRACE_GUARDIAN, SYS_socketpair, EINVAL, "libc asks again without flags" },
	{ TRACE_COMMAND, SYS_dup2, EBUSY, "libc asks again" },
	{ TRACE_COMMAND, SYS_prlimit64, ENOSYS, "libc uses the older call" },
	{ TRACE_INIT, SYS_keyctl, ENOSYS, "a kernel without keyrings has none to leave" },
	{ TRACE_COMMAND, SYS_keyctl, ENOSYS, "a kernel without keyrings has none to leave" },
};

/* More of them for Landlock alone. */
static const struct dispensable fenced[] = {
	{ TRACE_GUARDIAN, SYS_kill, 0, "nothing is believed of scopes; all end one by one" },
	{ TRACE_INIT, SYS_kill, 0, "nothing is believed of scopes; all end one by one" },
	{ TRACE_GUARDIAN, SYS_flock, 0, "who cannot lock cannot lock to sweep either" },
	{ TRACE_GUARDIAN, SYS_fcntl, 0, "libc asks for close-on-exec a second time" },
	{ TRACE_INIT, SYS_getsockopt, 0, "who does not know its network connects nobody" },
	{ TRACE_INIT, SYS_socket, 0, "who does not know its network connects nobody" },
	{ TRACE_INIT, SYS_landlock_create_ruleset, 0, "where nothing is known less is connected" },
	{ TRACE_INIT, SYS_ioctl, 0, "what is no terminal is granted as none" },
	{ TRACE_COMMAND, SYS_getdents64, 0, "who is not counted is counted as the command's" },
	{ TRACE_COMMAND, SYS_newfstatat, 0, "who is not counted is counted as the command's" },
#ifdef __x86_64__
	{ TRACE_COMMAND, SYS_open, 0, "who is not counted is counted as the command's" },
#endif
	{ TRACE_COMMAND, SYS_mmap, 0, "libc's allocator has another way; the plan's map counts" },
	{ TRACE_COMMAND, SYS_socket, EACCES, "what a canary must get" },
	{ TRACE_COMMAND, SYS_socket, EPERM, "what a canary must get" },
	{ TRACE_COMMAND, SYS_socket, EINVAL, "libc asks again without flags" },
	{ TRACE_COMMAND, SYS_kill, EPERM, "what a canary must get" },
	{ TRACE_COMMAND, SYS_seccomp, EINVAL, "an older kernel knows fewer flags" },
	{ TRACE_INIT, SYS_prctl, EPERM, "who has no privileges has none to give up" },
	{ TRACE_INIT, SYS_openat2, 0, "a socket's number is kept from being used again" },
};

/* Calls that are about different things; what was called just before tells which. */
static const struct {
	struct dispensable row;
	long before;
} following[] = {
	{ { TRACE_GUARDIAN, SYS_openat, EACCES, "its maker gives itself the right to open it" },
	  SYS_mkdirat },
	/* Any other name that cannot be looked at is one that has appeared meanwhile. */
	{ { TRACE_GUARDIAN, SYS_newfstatat, 0, "the view hides whatever a hidden name is" },
	  SYS_mkdirat },
	{ { TRACE_GUARDIAN, SYS_newfstatat, 0, "the view hides whatever a hidden name is" },
	  SYS_getdents64 },
	{ { TRACE_GUARDIAN, SYS_openat, 0, "the view hides whatever a hidden name is" },
	  SYS_newfstatat },
	{ { TRACE_GUARDIAN, SYS_getdents64, 0, "the view hides whatever a hidden name is" },
	  SYS_openat },
	{ { TRACE_GUARDIAN, SYS_getdents64, 0, "the view hides whatever a hidden name is" },
	  SYS_getdents64 },
	/* The floor's hidden names are the user's, and runs elsewhere may have made them: then this
	 * is no fault. Where there is nothing, nothing runs. */
	{ { TRACE_GUARDIAN, SYS_mkdirat, EEXIST, "another run has reserved it" }, SYS_newfstatat },
#ifdef SYS_lstat
	{ { TRACE_GUARDIAN, SYS_mkdirat, EEXIST, "another run has reserved it" }, SYS_lstat },
#endif
	{ { TRACE_GUARDIAN, SYS_openat2, ENOENT, "what is kept for the next run is not used" },
	  SYS_geteuid },
};

/* T-32. The journal of placeholders is for the case that something is left; a run that cannot write
 * it runs all the same. Paths are not known here: an undumpable process cannot be looked into by
 * everybody. So its calls are found by their order, from opening its directory to closing that, and
 * counted by the openat2() before them: whether a name is another run's placeholder already changes
 * how many calls there are, but not how many of those. */
#define SPANS_MAX 256
static size_t spans[SPANS_MAX]; /* calls from the openat2() on that are about the journal */

/* The calls from i on, if they are a look at the journal's directory, or the use of a file in it; 0
 * if they are not. */
static size_t measure(const struct trace_result *plain, size_t i)
{
	static const short used[] = { SYS_fstat, SYS_openat,  SYS_flock,     SYS_fcntl, SYS_mmap,
				      SYS_brk,   SYS_pread64, SYS_ftruncate, SYS_write, SYS_close };
	const short *calls_made = plain->calls[TRACE_GUARDIAN];
	size_t count = plain->count[TRACE_GUARDIAN];

	if (i + 4 > count || calls_made[i + 1] != SYS_fstat || calls_made[i + 2] != SYS_geteuid)
		return 0;
	if (calls_made[i + 3] == SYS_close)
		return 4;
	for (size_t at = i + 3; at + 1 < count; at++) {
		bool is_used = false;

		if (calls_made[at] == SYS_close && calls_made[at + 1] == SYS_close)
			return at + 2 - i;
		for (size_t k = 0; k < sizeof(used) / sizeof(used[0]); k++)
			is_used = is_used || calls_made[at] == used[k];
		if (!is_used)
			return 0;
	}
	return 0;
}

bool calls_learn(const struct trace_result *plain)
{
	size_t nth = 0;
	bool found = false;

	for (size_t i = 0; i < plain->count[TRACE_GUARDIAN] && nth < SPANS_MAX; i++) {
		if (plain->calls[TRACE_GUARDIAN][i] != SYS_openat2)
			continue;
		spans[nth] = measure(plain, i);
		found = found || spans[nth] > 0;
		nth++;
	}
	return found;
}

static bool is_about_journal(const struct trace_fault *fault, const struct trace_result *result)
{
	size_t nth = 0;
	size_t last = 0;

	if (fault->role != TRACE_GUARDIAN)
		return false;
	for (size_t i = 0; i < fault->nth; i++) {
		if (result->calls[TRACE_GUARDIAN][i] == SYS_openat2) {
			nth++;
			last = i;
		}
	}
	return nth > 0 && nth <= SPANS_MAX && fault->nth - 1 - last < spans[nth - 1];
}

/* T-32. A directory that cannot be taken from the store is made, or is found where it was moved to;
 * each name is looked at before it counts as reserved. statx() is called for nothing else, and
 * what is asked of the store follows it. */
static bool is_about_store(const struct trace_fault *fault, const struct trace_result *result)
{
	static const short asked[] = { SYS_newfstatat, SYS_openat, SYS_getdents64, SYS_fstat,
				       SYS_fchmod,     SYS_close,  SYS_renameat2 };

	if (fault->role != TRACE_GUARDIAN)
		return false;
	for (size_t i = fault->nth; i-- > 0;) {
		const short nr = result->calls[TRACE_GUARDIAN][i];
		bool is_asked = false;

		if (nr == SYS_statx)
			return true;
		for (size_t k = 0; k < sizeof(asked) / sizeof(asked[0]); k++)
			is_asked = is_asked || nr == asked[k];
		if (!is_asked)
			return false;
	}
	return false;
}

static bool is_row(const struct dispensable *row, const struct trace_fault *fault, long nr)
{
	return row->role == fault->role && row->nr == nr &&
	       (row->error == 0 || row->error == fault->error);
}

bool calls_are_dispensable(enum trace_shape shape, const struct trace_fault *fault,
			   const struct trace_result *result)
{
	long nr = result->fired_nr;
	long before = fault->nth < 2 ? -1 : result->calls[fault->role][fault->nth - 2];

	if (is_about_journal(fault, result) || is_about_store(fault, result))
		return true;
	/* The runner looks at much that turns out not to matter, and asks some things twice; what
	 * did matter shows in the answers. */
	if (fault->role == TRACE_RUNNER)
		return true;
	/* What bubblewrap could do without has been compared with the plan. */
	if (fault->role == TRACE_BUBBLEWRAP || fault->role == TRACE_NAMESPACED)
		return true;
	for (size_t i = 0; i < sizeof(dispensable) / sizeof(dispensable[0]); i++)
		if (is_row(&dispensable[i], fault, nr))
			return true;
	for (size_t i = 0; i < sizeof(following) / sizeof(following[0]); i++)
		if (is_row(&following[i].row, fault, nr) && following[i].before == before)
			return true;
	for (size_t i = 0; shape == TRACE_LANDLOCK && i < sizeof(fenced) / sizeof(fenced[0]); i++)
		if (is_row(&fenced[i], fault, nr))
			return true;
	return false;
}
