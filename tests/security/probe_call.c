/* SPDX-License-Identifier: MIT */
/* System calls, sockets, namespaces, other processes. */
#include "probe.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/keyctl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static int result(long r)
{
	return r < 0 ? errno : 0;
}

static int try_socket(char **arg)
{
	int fd = socket((int)probe_number(arg[0]), (int)probe_number(arg[1]),
			(int)probe_number(arg[2]));

	if (fd < 0)
		return errno;
	(void)close(fd);
	return 0;
}

static int try_pair(char **arg)
{
	int ends[2];

	if (socketpair((int)probe_number(arg[0]), (int)probe_number(arg[1]), 0, ends) < 0)
		return errno;
	(void)close(ends[0]);
	(void)close(ends[1]);
	return 0;
}

static int connect_unix(const char *name, size_t skip)
{
	static const int types[] = { SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET };
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	size_t len = strlen(name);
	int error = EINVAL;

	if (skip + len >= sizeof(address.sun_path))
		return ENAMETOOLONG;
	memcpy(address.sun_path + skip, name, len);
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]) && error; i++) {
		int fd = socket(AF_UNIX, types[i] | SOCK_CLOEXEC, 0);

		if (fd < 0)
			return errno;
		error = result(
			connect(fd, (struct sockaddr *)&address,
				(socklen_t)(offsetof(struct sockaddr_un, sun_path) + skip + len)));
		(void)close(fd);
		if (error && error != EPROTOTYPE)
			break;
	}
	return error;
}

static int try_connect_unix(char **arg)
{
	return connect_unix(arg[0], 0);
}

static int try_connect_abstract(char **arg)
{
	return connect_unix(arg[0], 1);
}

/* In a child, which then ends: what is tried may not be undone. */
static int in_child(int (*act)(const void *arg), const void *arg)
{
	int status;
	pid_t pid = fork();

	if (pid < 0)
		return errno;
	if (pid == 0)
		_exit(act(arg));
	if (waitpid(pid, &status, 0) != pid)
		return ECHILD;
	return WIFEXITED(status) ? WEXITSTATUS(status) : EINTR;
}

static int unshare_flag(const void *arg)
{
	return result(unshare((int)*(const long *)arg));
}

static int try_unshare(char **arg)
{
	long flag = probe_number(arg[0]);

	return in_child(unshare_flag, &flag);
}

/* The raw call, flags as they are given: glibc would look at them first. */
static int try_clone(char **arg)
{
	unsigned long flags = (unsigned long)probe_number(arg[0]) | SIGCHLD;
	long pid = syscall(SYS_clone, flags, 0, 0, 0, 0);

	if (pid == 0)
		_exit(0);
	if (pid < 0)
		return errno;
	(void)waitpid((pid_t)pid, NULL, 0);
	return 0;
}

static int try_clone3(char **arg)
{
	struct clone_args args = { .exit_signal = SIGCHLD };
	long pid;

	args.flags = (uint64_t)probe_number(arg[0]);
	pid = syscall(SYS_clone3, &args, sizeof(args));
	if (pid == 0)
		_exit(0);
	if (pid < 0)
		return errno;
	(void)waitpid((pid_t)pid, NULL, 0);
	return 0;
}

static int try_signal(char **arg)
{
	return result(kill((pid_t)probe_number(arg[0]), 0));
}

/* Types a byte into terminal FD; the upper half of the command is not the kernel's business. */
static int try_tiocsti(char **arg)
{
	return result(syscall(SYS_ioctl, probe_number(arg[0]), (unsigned long)TIOCSTI, "x"));
}

static int try_tiocsti_high(char **arg)
{
	return result(syscall(SYS_ioctl, probe_number(arg[0]), TIOCSTI | 1UL << 32, "x"));
}

static int try_tioclinux(char **arg)
{
	char subcode = 6; /* shift state: harmless where it works */
	int error = result(ioctl((int)probe_number(arg[0]), TIOCLINUX, &subcode));

	return error == ENOTTY || error == EINVAL ? 0 : error; /* it came through */
}

/* Request NUMBER, to nobody: what comes through finds that there is no such descriptor. A filter
 * sees no more than the number either. */
static int try_control(char **arg)
{
	int error = result(syscall(SYS_ioctl, -1, probe_number(arg[0]), NULL));

	return error == EBADF ? 0 : error;
}

/* Has whoever writes to PATH wait. */
static int try_lease(char **arg)
{
	int fd = open(arg[0], O_RDONLY | O_CLOEXEC);
	int error;

	if (fd < 0)
		return errno;
	error = result(fcntl(fd, F_SETLEASE, F_RDLCK));
	(void)close(fd);
	return error;
}

#ifdef __x86_64__
static int try_x32(char **arg)
{
	(void)arg;
	return result(syscall(0x40000000L + SYS_getpid));
}

/* The 32-bit entry: getpid there is 20. */
static int call_i386(const void *arg)
{
	long r = 20;

	(void)arg;
	__asm__ volatile("int $0x80" : "+a"(r) : : "memory", "r8", "r9", "r10", "r11");
	return r < 0 ? (int)-r : 0;
}

static int try_i386(char **arg)
{
	(void)arg;
	return in_child(call_i386, NULL);
}
#endif

static int try_sysv(char **arg)
{
	return result(shmget((key_t)probe_number(arg[0]), 0, 0));
}

/* Whether a call gets as far as the kernel: with arguments that are wrong in a harmless way it
 * answers something else than the filter does. */
struct call {
	const char *name;
	long number;
	long arg[4];
};

#define BAD 1L /* a pointer to nowhere */

static const struct call calls[] = {
	{ "ptrace", SYS_ptrace, { PTRACE_PEEKDATA, 0, 0, 0 } },
	{ "process_vm_readv", SYS_process_vm_readv, { 0, BAD, 1, BAD } },
	{ "process_vm_writev", SYS_process_vm_writev, { 0, BAD, 1, BAD } },
	{ "kcmp", SYS_kcmp, { 0, 0, 99, 0 } },
	{ "pidfd_getfd", SYS_pidfd_getfd, { -1, 0, 0, 0 } },
	{ "userfaultfd", SYS_userfaultfd, { 1 /* user mode only */ } },
	{ "process_madvise", SYS_process_madvise, { -1, BAD, 1, 0 } },
	{ "mount", SYS_mount, { BAD, BAD, BAD, 0 } },
	{ "umount2", SYS_umount2, { BAD, 0 } },
	{ "pivot_root", SYS_pivot_root, { BAD, BAD } },
	{ "chroot", SYS_chroot, { BAD } },
	{ "open_tree", SYS_open_tree, { -1, BAD, 0 } },
	{ "move_mount", SYS_move_mount, { -1, BAD, -1, BAD } },
	{ "fsopen", SYS_fsopen, { BAD, 0 } },
	{ "fsconfig", SYS_fsconfig, { -1, 0, BAD, BAD } },
	{ "fsmount", SYS_fsmount, { -1, 0, 0 } },
	{ "fspick", SYS_fspick, { -1, BAD, 0 } },
	{ "mount_setattr", SYS_mount_setattr, { -1, BAD, 0, BAD } },
	{ "setns", SYS_setns, { -1, 0 } },
	{ "open_by_handle_at", SYS_open_by_handle_at, { -1, BAD, 0 } },
	{ "fanotify_init", SYS_fanotify_init, { -1, 0 } },
	{ "bpf", SYS_bpf, { -1, BAD, 0 } },
	{ "perf_event_open", SYS_perf_event_open, { BAD, 0, -1, -1 } },
	{ "kexec_load", SYS_kexec_load, { 0, 999, BAD, -1 } },
	{ "init_module", SYS_init_module, { BAD, 0, BAD } },
	{ "finit_module", SYS_finit_module, { -1, BAD, -1 } },
	{ "delete_module", SYS_delete_module, { BAD, 0 } },
	{ "reboot", SYS_reboot, { 0, 0, 0, 0 } },
	{ "swapon", SYS_swapon, { BAD, -1 } },
	{ "swapoff", SYS_swapoff, { BAD } },
	{ "acct", SYS_acct, { BAD } },
	{ "quotactl", SYS_quotactl, { -1, BAD, 0, BAD } },
	{ "syslog", SYS_syslog, { 99, 0, 0 } },
	{ "keyctl", SYS_keyctl, { KEYCTL_GET_KEYRING_ID, KEY_SPEC_SESSION_KEYRING, 0 } },
	{ "add_key", SYS_add_key, { BAD, BAD, BAD, 0 } },
	{ "request_key", SYS_request_key, { BAD, BAD, 0, 0 } },
	{ "settimeofday", SYS_settimeofday, { BAD, 0 } },
	{ "clock_settime", SYS_clock_settime, { 0, BAD } },
	{ "clock_adjtime", SYS_clock_adjtime, { 0, BAD } },
	{ "adjtimex", SYS_adjtimex, { BAD } },
	{ "sethostname", SYS_sethostname, { BAD, -1 } },
	{ "setdomainname", SYS_setdomainname, { BAD, -1 } },
	{ "io_uring_setup", SYS_io_uring_setup, { 0, BAD } },
	{ "io_uring_enter", SYS_io_uring_enter, { -1, 0, 0, 0 } },
	{ "io_uring_register", SYS_io_uring_register, { -1, 0, 0, 0 } },
#ifdef __x86_64__
	{ "iopl", SYS_iopl, { 99 } },
	{ "ioperm", SYS_ioperm, { 70000, 1, 1 } },
	{ "modify_ldt", SYS_modify_ldt, { 99, 0, 0 } },
#endif
	{ "number-463", 463, { -1, BAD, -1, BAD } },
	{ "number-468", 468, { -1, BAD, -1, BAD } },
};

static int try_call(char **arg)
{
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		const struct call *c = &calls[i];
		int error;

		if (strcmp(c->name, arg[0]) != 0)
			continue;
		error = result(syscall(c->number, c->arg[0], c->arg[1], c->arg[2], c->arg[3], 0));
		return error == EPERM || error == ENOSYS ? error : 0;
	}
	(void)fprintf(stderr, "probe: no call '%s'\n", arg[0]);
	return ENODATA;
}

/* The names, for tests that walk the table. */
static int list_calls(char **arg)
{
	(void)arg;
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		(void)printf("%s\n", calls[i].name);
	return 0;
}

const struct probe_entry probe_call_acts[] = {
	{ "socket", 3, try_socket },
	{ "socket-pair", 2, try_pair },
	{ "connect-unix", 1, try_connect_unix },
	{ "abstract-connect", 1, try_connect_abstract },
	{ "unshare", 1, try_unshare },
	{ "clone", 1, try_clone },
	{ "clone3", 1, try_clone3 },
	{ "signal", 1, try_signal },
	{ "tiocsti", 1, try_tiocsti },
	{ "tiocsti-high", 1, try_tiocsti_high },
	{ "tioclinux", 1, try_tioclinux },
	{ "control", 1, try_control },
	{ "lease", 1, try_lease },
#ifdef __x86_64__
	{ "x32", 0, try_x32 },
	{ "i386", 0, try_i386 },
#endif
	{ "sysv-shm", 1, try_sysv },
	{ "call", 1, try_call },
	{ "calls", 0, list_calls },
	{ NULL, 0, NULL },
};
