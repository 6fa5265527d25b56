/* SPDX-License-Identifier: MIT */
/*
 * T-20, T-37. Both filters of one architecture, by an interpreter, so that those of aarch64 are
 * tried on any machine. The numbers of calls come from the kernel's headers and not, as those of
 * the filters, from libseccomp.
 */
#include "koda_test.h"

#include "../lib/bpf.h"
#include "plan/filter.h"
#include "plan/notify_filter.h"
#include "plan/report_filter.h"

#include <errno.h>
#include <fcntl.h>
#include <koda/sandbox.h>
#include <linux/audit.h>
#include <linux/fs.h>
#include <linux/ioprio.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>

#ifdef KODA_FILTER_AARCH64
/* What the kernel's asm/unistd.h of arm64 says. */
#define __ARCH_WANT_RENAMEAT
#define __ARCH_WANT_NEW_STAT
#define __ARCH_WANT_SET_GET_RLIMIT
#define __ARCH_WANT_SYS_CLONE3
#define __ARCH_WANT_MEMFD_SECRET
#include <asm-generic/unistd.h>
#define ARCH  AUDIT_ARCH_AARCH64
#define OTHER AUDIT_ARCH_ARM
#else
#include <asm/unistd.h>
#define ARCH  AUDIT_ARCH_X86_64
#define OTHER AUDIT_ARCH_I386
#endif

#define FIRST_UNKNOWN 463
#define FCHMODAT2     452
#define STATMOUNT     457
#define ALLOW         SECCOMP_RET_ALLOW
#define ASKED         SECCOMP_RET_USER_NOTIF
#define ERROR(number) (SECCOMP_RET_ERRNO | (unsigned int)(number))
#define HIGH          (1UL << 32)
#define SET_USER_ID   04755
#define FASTOPEN      0x20000000

struct row {
	const char *name;
	int number;
	unsigned long args[4];
	unsigned int want;
};

/* Whatever the arguments. */
static const struct {
	int number;
	int error;
} always[] = {
	{ __NR_clone3, ENOSYS },
	{ __NR_io_uring_setup, ENOSYS },
	{ __NR_io_uring_enter, ENOSYS },
	{ __NR_io_uring_register, ENOSYS },
	{ __NR_openat2, ENOSYS },
	{ 447 /* memfd_secret */, ENOSYS },
	{ __NR_process_vm_readv, EPERM },
	{ __NR_process_vm_writev, EPERM },
	{ __NR_kcmp, EPERM },
	{ __NR_pidfd_getfd, EPERM },
	{ __NR_userfaultfd, EPERM },
	{ __NR_process_madvise, EPERM },
	{ __NR_mount, EPERM },
	{ __NR_umount2, EPERM },
	{ __NR_pivot_root, EPERM },
	{ __NR_chroot, EPERM },
	{ __NR_open_tree, EPERM },
	{ __NR_move_mount, EPERM },
	{ __NR_fsopen, EPERM },
	{ __NR_fsconfig, EPERM },
	{ __NR_fsmount, EPERM },
	{ __NR_fspick, EPERM },
	{ __NR_mount_setattr, EPERM },
	{ __NR_setns, EPERM },
	{ __NR_open_by_handle_at, EPERM },
	{ __NR_fanotify_init, EPERM },
	{ __NR_bpf, EPERM },
	{ __NR_perf_event_open, EPERM },
	{ __NR_kexec_load, EPERM },
	{ __NR_kexec_file_load, EPERM },
	{ __NR_init_module, EPERM },
	{ __NR_finit_module, EPERM },
	{ __NR_delete_module, EPERM },
	{ __NR_reboot, EPERM },
	{ __NR_swapon, EPERM },
	{ __NR_swapoff, EPERM },
	{ __NR_acct, EPERM },
	{ __NR_quotactl, EPERM },
	{ __NR_quotactl_fd, EPERM },
	{ __NR_syslog, EPERM },
	{ __NR_lookup_dcookie, EPERM },
	{ __NR_nfsservctl, EPERM },
	{ __NR_vhangup, EPERM },
	{ __NR_keyctl, EPERM },
	{ __NR_add_key, EPERM },
	{ __NR_request_key, EPERM },
	{ __NR_settimeofday, EPERM },
	{ __NR_clock_settime, EPERM },
	{ __NR_clock_adjtime, EPERM },
	{ __NR_adjtimex, EPERM },
	{ __NR_sethostname, EPERM },
	{ __NR_setdomainname, EPERM },
#ifndef KODA_FILTER_AARCH64
	{ __NR__sysctl, EPERM },
	{ __NR_sysfs, EPERM },
	{ __NR_uselib, EPERM },
	{ __NR_ustat, EPERM },
	{ __NR_iopl, EPERM },
	{ __NR_ioperm, EPERM },
	{ __NR_modify_ldt, EPERM },
#endif
	/* Arguments of 0 are refused as well. */
	{ __NR_ptrace, EPERM },
	{ __NR_socket, EAFNOSUPPORT },
	{ __NR_socketpair, EAFNOSUPPORT },
};

/* By their arguments. */
static const struct row first[] = {
	{ "a new user namespace", __NR_unshare, { CLONE_NEWUSER }, ERROR(EPERM) },
	{ "a new time namespace", __NR_unshare, { 0x80 }, ERROR(EPERM) },
	{ "one's own descriptors", __NR_unshare, { CLONE_FILES }, ALLOW },
	{ "a child in a namespace", __NR_clone, { CLONE_NEWNET | SIGCHLD }, ERROR(EPERM) },
	{ "a child", __NR_clone, { SIGCHLD }, ALLOW },
	{ "a thread", __NR_clone, { CLONE_VM | CLONE_THREAD | CLONE_SIGHAND }, ALLOW },
	{ "unix", __NR_socket, { AF_UNIX, SOCK_SEQPACKET }, ALLOW },
	{ "tcp", __NR_socket, { AF_INET, SOCK_STREAM | SOCK_CLOEXEC, IPPROTO_TCP }, ALLOW },
	{ "vsock", __NR_socket, { AF_VSOCK, SOCK_STREAM }, ERROR(EAFNOSUPPORT) },
	{ "packets", __NR_socket, { AF_PACKET, SOCK_RAW }, ERROR(EAFNOSUPPORT) },
	{ "packets, high half", __NR_socket, { AF_PACKET | HIGH, SOCK_RAW }, ERROR(EAFNOSUPPORT) },
	{ "route netlink", __NR_socket, { AF_NETLINK, SOCK_RAW, 0 }, ALLOW },
	{ "audit netlink", __NR_socket, { AF_NETLINK, SOCK_RAW, 9 }, ERROR(EAFNOSUPPORT) },
	{ "sctp", __NR_socket, { AF_INET, SOCK_STREAM, 132 }, ERROR(EPROTONOSUPPORT) },
	{ "dccp", __NR_socket, { AF_INET, SOCK_DCCP, 33 }, ERROR(EPROTONOSUPPORT) },
	{ "sequences", __NR_socket, { AF_INET, SOCK_SEQPACKET }, ERROR(ESOCKTNOSUPPORT) },
	{ "a pair", __NR_socketpair, { AF_UNIX, SOCK_STREAM }, ALLOW },
	{ "typing", __NR_ioctl, { 0, TIOCSTI }, ERROR(EPERM) },
	{ "typing, high half", __NR_ioctl, { 0, TIOCSTI | HIGH }, ERROR(EPERM) },
	{ "a line discipline", __NR_ioctl, { 0, TIOCSETD }, ERROR(EPERM) },
	{ "size of a window", __NR_ioctl, { 0, TIOCGWINSZ }, ALLOW },
	{ "bytes to be read", __NR_ioctl, { 0, FIONREAD }, ALLOW },
	{ "a clone of a file", __NR_ioctl, { 0, FICLONE }, ALLOW },
	{ "a snapshot", __NR_ioctl, { 0, _IOW(0x94, 1, char[4096]) }, ERROR(ENOTTY) },
	{ "attaching", __NR_ptrace, { PTRACE_ATTACH }, ALLOW },
	{ "sets of registers", __NR_ptrace, { PTRACE_GETREGSET }, ALLOW },
#ifdef KODA_FILTER_AARCH64
	{ "a request of x86", __NR_ptrace, { 12 }, ERROR(EPERM) },
#else
	{ "registers", __NR_ptrace, { 12 }, ALLOW },
#endif
	{ "changing memory", __NR_ptrace, { PTRACE_POKEDATA }, ERROR(EPERM) },
	{ "changing registers", __NR_ptrace, { PTRACE_SETREGSET }, ERROR(EPERM) },
	{ "a lease", __NR_fcntl, { 0, F_SETLEASE }, ERROR(EPERM) },
	{ "flags", __NR_fcntl, { 0, F_GETFL }, ALLOW },
	{ "limits of init", __NR_prlimit64, { 1, RLIMIT_NOFILE, HIGH }, ERROR(EPERM) },
	{ "reading limits of init", __NR_prlimit64, { 1, RLIMIT_NOFILE, 0 }, ALLOW },
	{ "own limits", __NR_prlimit64, { 0, RLIMIT_NOFILE, 1 }, ALLOW },
	{ "processors of init", __NR_sched_setaffinity, { 1 }, ERROR(EPERM) },
	{ "own processors", __NR_sched_setaffinity, { 0 }, ALLOW },
	{ "scheduler of init", __NR_sched_setscheduler, { 1 }, ERROR(EPERM) },
	{ "parameters of init", __NR_sched_setparam, { 1 }, ERROR(EPERM) },
	{ "attributes of init", __NR_sched_setattr, { 1 }, ERROR(EPERM) },
	{ "priority of init", __NR_setpriority, { PRIO_PROCESS, 1 }, ERROR(EPERM) },
	{ "priority of all", __NR_setpriority, { PRIO_USER, 0 }, ERROR(EPERM) },
	{ "own priority", __NR_setpriority, { PRIO_PROCESS, 0 }, ALLOW },
	{ "input of init", __NR_ioprio_set, { IOPRIO_WHO_PROCESS, 1 }, ERROR(EPERM) },
	{ "mode of a descriptor", __NR_fchmod, { 3, SET_USER_ID }, ERROR(EPERM) },
	{ "plain mode", __NR_fchmod, { 3, 0755 }, ALLOW },
	{ "mode", __NR_fchmodat, { 3, 0, SET_USER_ID }, ERROR(EPERM) },
	{ "mode of a group", __NR_fchmodat, { 3, 0, 02755 }, ERROR(EPERM) },
	{ "newer mode", FCHMODAT2, { 3, 0, SET_USER_ID }, ERROR(EPERM) },
	{ "newer mode of a group", FCHMODAT2, { 3, 0, 02755 }, ERROR(EPERM) },
	{ "newer plain mode", FCHMODAT2, { 3, 0, 0755 }, ALLOW },
	{ "a node", __NR_mknodat, { 3, 0, SET_USER_ID }, ERROR(EPERM) },
	{ "a file", __NR_openat, { 3, 0, O_CREAT | O_WRONLY, SET_USER_ID }, ERROR(EPERM) },
	{ "an unnamed file", __NR_openat, { 3, 0, 020000000 | O_RDWR, 02755 }, ERROR(EPERM) },
	{ "a plain file", __NR_openat, { 3, 0, O_CREAT | O_WRONLY, 0644 }, ALLOW },
	{ "no file to be made", __NR_openat, { 3, 0, O_RDONLY, SET_USER_ID }, ALLOW },
#ifndef KODA_FILTER_AARCH64
	{ "older mode", __NR_chmod, { 0, SET_USER_ID }, ERROR(EPERM) },
	{ "older node", __NR_mknod, { 0, SET_USER_ID }, ERROR(EPERM) },
	{ "older file", __NR_open, { 0, O_CREAT, SET_USER_ID }, ERROR(EPERM) },
	{ "oldest file", __NR_creat, { 0, SET_USER_ID }, ERROR(EPERM) },
	{ "a number of x32", 0x40000000 + __NR_getpid, { 0 }, ERROR(ENOSYS) },
#endif
	{ "the last that is known", FIRST_UNKNOWN - 1, { 0 }, ALLOW },
	{ "the first that is not", FIRST_UNKNOWN, { 0 }, ERROR(ENOSYS) },
	{ "no call", -1, { 0 }, ERROR(ENOSYS) },
};

static const struct row second[] = {
	{ "tcp", __NR_socket, { AF_INET, SOCK_STREAM }, ALLOW },
	{ "udp", __NR_socket, { AF_INET, SOCK_DGRAM }, ERROR(EACCES) },
	{ "unix datagrams", __NR_socket, { AF_UNIX, SOCK_DGRAM }, ERROR(EACCES) },
	{ "netlink", __NR_socket, { AF_NETLINK, SOCK_RAW }, ERROR(EAFNOSUPPORT) },
	{ "pair of datagrams", __NR_socketpair, { AF_UNIX, SOCK_DGRAM }, ERROR(EACCES) },
	{ "a device", __NR_setsockopt, { 3, SOL_SOCKET, SO_BINDTODEVICE }, ERROR(EPERM) },
	{ "keeping alive", __NR_setsockopt, { 3, SOL_SOCKET, SO_KEEPALIVE }, ALLOW },
	{ "connecting by sending", __NR_sendto, { 3, 0, 0, FASTOPEN }, ERROR(EACCES) },
	{ "by message", __NR_sendmsg, { 3, 0, FASTOPEN }, ERROR(EACCES) },
	{ "by messages", __NR_sendmmsg, { 3, 0, 0, FASTOPEN }, ERROR(EACCES) },
	{ "connect", __NR_connect, { 3 }, ASKED },
	{ "listen", __NR_listen, { 3 }, ASKED },
	{ "bind", __NR_bind, { 3 }, ALLOW },
	{ "mode of a descriptor", __NR_fchmod, { 3 }, ASKED },
	{ "mode", __NR_fchmodat, { 3 }, ASKED },
	{ "newer mode", FCHMODAT2, { 3 }, ASKED },
	{ "owner of a descriptor", __NR_fchown, { 3 }, ASKED },
	{ "owner", __NR_fchownat, { 3 }, ASKED },
	{ "times", __NR_utimensat, { 3 }, ASKED },
	{ "attributes", __NR_setxattr, { 0 }, ERROR(EOPNOTSUPP) },
	{ "attributes of a descriptor", __NR_fgetxattr, { 0 }, ERROR(EOPNOTSUPP) },
	{ "newer attributes", FIRST_UNKNOWN, { 0 }, ERROR(ENOSYS) },
	{ "watching", __NR_inotify_init1, { 0 }, ERROR(ENOSYS) },
	{ "mounts", STATMOUNT, { 0 }, ERROR(ENOSYS) },
	{ "shared memory", __NR_shmget, { 0 }, ERROR(ENOSYS) },
	{ "semaphores", __NR_semtimedop, { 0 }, ERROR(ENOSYS) },
	{ "messages", __NR_msgrcv, { 0 }, ERROR(ENOSYS) },
	{ "queues", __NR_mq_open, { 0 }, ERROR(ENOSYS) },
	{ "pages of others", __NR_move_pages, { 0 }, ERROR(EPERM) },
	{ "processors of another", __NR_sched_setaffinity, { 7 }, ERROR(EPERM) },
	{ "own processors", __NR_sched_setaffinity, { 0 }, ALLOW },
	{ "priority of another", __NR_setpriority, { PRIO_PROCESS, 7 }, ERROR(EPERM) },
	{ "limits of another", __NR_prlimit64, { 7, 0, HIGH }, ERROR(EPERM) },
	{ "flags of a file", __NR_ioctl, { 3, FS_IOC_SETFLAGS }, ERROR(ENOTTY) },
#ifndef KODA_FILTER_AARCH64
	{ "older mode", __NR_chmod, { 0 }, ASKED },
	{ "older owner", __NR_chown, { 0 }, ASKED },
	{ "owner of a link", __NR_lchown, { 0 }, ASKED },
	{ "older watching", __NR_inotify_init, { 0 }, ERROR(ENOSYS) },
	{ "older times", __NR_utimes, { 0 }, ERROR(ENOSYS) },
#endif
	{ "reading", __NR_read, { 0 }, ALLOW },
	{ "opening", __NR_openat, { 0 }, ALLOW },
	{ "a program", __NR_execve, { 0 }, ALLOW },
};

static unsigned int act(const struct koda_span *program, unsigned int arch, const struct row *row)
{
	struct seccomp_data data = { .nr = row->number, .arch = arch };

	for (size_t i = 0; i < sizeof(row->args) / sizeof(row->args[0]); i++)
		data.args[i] = row->args[i];
	return koda_bpf_run((const struct sock_filter *)(const void *)program->ptr,
			    program->len / sizeof(struct sock_filter), &data);
}

static void expect(const struct koda_span *program, const struct row *row)
{
	unsigned int got = act(program, ARCH, row);

	if (got != row->want)
		fail_msg("%s (%d): %#x, expected %#x", row->name, row->number, got, row->want);
}

static void arguments_decide(void **state)
{
	struct koda_span program = koda_filter_program();

	(void)state;
	KODA_EACH(row, first)
		expect(&program, row);
}

/* Every number: those on the list are refused, all others pass. */
static void nothing_else_is_refused(void **state)
{
	struct koda_span program = koda_filter_program();

	(void)state;
	for (int number = 0; number < FIRST_UNKNOWN; number++) {
		struct row row = { "number", number, { 0 }, ALLOW };

		KODA_EACH(entry, always)
			if (entry->number == number)
				row.want = ERROR(entry->error);
		expect(&program, &row);
	}
}

static void other_architectures_are_killed(void **state)
{
	struct koda_span program = koda_filter_program();

	(void)state;
	for (int number = 0; number < FIRST_UNKNOWN; number++) {
		const struct row row = { "number", number, { 0, TIOCGWINSZ }, 0 };
		unsigned int got = act(&program, OTHER, &row);

		/* The head compares numbers first, and refuses what only looks like its calls. */
		if (got != SECCOMP_RET_KILL_PROCESS && number != __NR_ptrace)
			fail_msg("%d: %#x", number, got);
	}
}

static void listing_names_the_architecture(void **state)
{
	char name[64];

	(void)state;
	(void)snprintf(name, sizeof(name), "if ($arch == %u)", (unsigned int)ARCH);
	assert_non_null(strstr(koda_filter_listing(), name));
}

static void second_filter(void **state)
{
	koda_auto_buf struct koda_buf bytes = KODA_BUF_INIT(65536);
	struct koda_span program;

	(void)state;
	assert_int_equal(koda_notify_filter_program(&bytes), KODA_OK);
	program = (struct koda_span){ bytes.ptr, bytes.len };
	KODA_EACH(row, second)
		expect(&program, row);
}

/* The filter of reports: what it tells of, without and with reading. */
static const struct {
	struct row row;
	bool only_reads;
} told[] = {
	{ { "opening to read", __NR_openat, { 0, 0, O_RDONLY | O_CLOEXEC }, 0 }, true },
	{ { "opening a directory", __NR_openat, { 0, 0, O_DIRECTORY }, 0 }, true },
	{ { "opening to write", __NR_openat, { 0, 0, O_WRONLY }, 0 }, false },
	{ { "opening for both", __NR_openat, { 0, 0, O_RDWR }, 0 }, false },
	{ { "creating", __NR_openat, { 0, 0, O_CREAT }, 0 }, false },
	{ { "emptying", __NR_openat, { 0, 0, O_TRUNC }, 0 }, false },
	{ { "executing", __NR_execve, { 0 }, 0 }, true },
	{ { "making a directory", __NR_mkdirat, { 0 }, 0 }, false },
	{ { "renaming", __NR_renameat2, { 0 }, 0 }, false },
	{ { "linking", __NR_linkat, { 0 }, 0 }, false },
	{ { "removing", __NR_unlinkat, { 0 }, 0 }, false },
	{ { "binding", __NR_bind, { 0 }, 0 }, false },
	{ { "a mode", __NR_fchmod, { 0 }, 0 }, false },
	{ { "times", __NR_utimensat, { 0 }, 0 }, false },
	{ { "an attribute", __NR_lsetxattr, { 0 }, 0 }, false },
#ifndef KODA_FILTER_AARCH64
	{ { "opening to read, the old way", __NR_open, { 0, O_RDONLY }, 0 }, true },
	{ { "creating, the old way", __NR_creat, { 0 }, 0 }, false },
#endif
};

static void filter_of_reports(void **state)
{
	(void)state;
	for (int reads = 0; reads < 2; reads++) {
		koda_auto_buf struct koda_buf bytes = KODA_BUF_INIT(65536);
		struct koda_span program;

		assert_int_equal(koda_report_filter_program(reads, &bytes), KODA_OK);
		program = (struct koda_span){ bytes.ptr, bytes.len };
		expect(&program, &(struct row){ "reading", __NR_read, { 0 }, ALLOW });
		KODA_EACH(entry, told) {
			struct row row = entry->row;

			row.want = reads || !entry->only_reads ? ASKED : ALLOW;
			expect(&program, &row);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(arguments_decide),
		cmocka_unit_test(nothing_else_is_refused),
		cmocka_unit_test(other_architectures_are_killed),
		cmocka_unit_test(listing_names_the_architecture),
		cmocka_unit_test(second_filter),
		cmocka_unit_test(filter_of_reports),
	};

	return KODA_TEST_RUN(tests);
}
