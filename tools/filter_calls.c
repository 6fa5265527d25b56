/* SPDX-License-Identifier: MIT */
/*
 * T-20. The one table of calls that the filters name. A name stands here once; libseccomp tells its
 * number on each architecture, and the build fails where that and the table disagree.
 */
#include "filter_calls.h"

#include <seccomp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum where {
	EVERYWHERE,
	NOT_AARCH64, /* an older call, whose place another one has taken; or one of x86 hardware */
};

static const struct row {
	const char *name;
	enum where where;
	int young; /* its number, if libseccomp may be too old to know it */
} rows[] = {
	/* absent */
	{ "clone3", EVERYWHERE },
	{ "io_uring_setup", EVERYWHERE },
	{ "io_uring_enter", EVERYWHERE },
	{ "io_uring_register", EVERYWHERE },
	{ "openat2", EVERYWHERE },
	{ "memfd_secret", EVERYWHERE },
	/* other processes, other memory */
	{ "ptrace", EVERYWHERE },
	{ "process_vm_readv", EVERYWHERE },
	{ "process_vm_writev", EVERYWHERE },
	{ "kcmp", EVERYWHERE },
	{ "pidfd_getfd", EVERYWHERE },
	{ "userfaultfd", EVERYWHERE },
	{ "process_madvise", EVERYWHERE },
	{ "migrate_pages", EVERYWHERE },
	{ "move_pages", EVERYWHERE },
	{ "clone", EVERYWHERE },
	{ "unshare", EVERYWHERE },
	/* mounts and namespaces */
	{ "mount", EVERYWHERE },
	{ "umount2", EVERYWHERE },
	{ "pivot_root", EVERYWHERE },
	{ "chroot", EVERYWHERE },
	{ "open_tree", EVERYWHERE },
	{ "move_mount", EVERYWHERE },
	{ "fsopen", EVERYWHERE },
	{ "fsconfig", EVERYWHERE },
	{ "fsmount", EVERYWHERE },
	{ "fspick", EVERYWHERE },
	{ "mount_setattr", EVERYWHERE },
	{ "statmount", EVERYWHERE, 457 },
	{ "listmount", EVERYWHERE, 458 },
	{ "setns", EVERYWHERE },
	{ "open_by_handle_at", EVERYWHERE },
	{ "fanotify_init", EVERYWHERE },
	{ "inotify_init", NOT_AARCH64 },
	{ "inotify_init1", EVERYWHERE },
	/* the kernel itself */
	{ "bpf", EVERYWHERE },
	{ "perf_event_open", EVERYWHERE },
	{ "kexec_load", EVERYWHERE },
	{ "kexec_file_load", EVERYWHERE },
	{ "init_module", EVERYWHERE },
	{ "finit_module", EVERYWHERE },
	{ "delete_module", EVERYWHERE },
	{ "reboot", EVERYWHERE },
	{ "swapon", EVERYWHERE },
	{ "swapoff", EVERYWHERE },
	{ "acct", EVERYWHERE },
	{ "quotactl", EVERYWHERE },
	{ "quotactl_fd", EVERYWHERE },
	{ "syslog", EVERYWHERE },
	{ "lookup_dcookie", EVERYWHERE },
	{ "nfsservctl", EVERYWHERE },
	{ "_sysctl", NOT_AARCH64 },
	{ "sysfs", NOT_AARCH64 },
	{ "uselib", NOT_AARCH64 },
	{ "ustat", NOT_AARCH64 },
	{ "vhangup", EVERYWHERE },
	/* keyrings */
	{ "keyctl", EVERYWHERE },
	{ "add_key", EVERYWHERE },
	{ "request_key", EVERYWHERE },
	/* time, name, hardware */
	{ "settimeofday", EVERYWHERE },
	{ "clock_settime", EVERYWHERE },
	{ "clock_adjtime", EVERYWHERE },
	{ "adjtimex", EVERYWHERE },
	{ "sethostname", EVERYWHERE },
	{ "setdomainname", EVERYWHERE },
	{ "iopl", NOT_AARCH64 },
	{ "ioperm", NOT_AARCH64 },
	{ "modify_ldt", NOT_AARCH64 },
	/* sockets, descriptors */
	{ "socket", EVERYWHERE },
	{ "socketpair", EVERYWHERE },
	{ "setsockopt", EVERYWHERE },
	{ "connect", EVERYWHERE },
	{ "listen", EVERYWHERE },
	{ "sendto", EVERYWHERE },
	{ "sendmsg", EVERYWHERE },
	{ "sendmmsg", EVERYWHERE },
	{ "ioctl", EVERYWHERE },
	{ "fcntl", EVERYWHERE },
	/* priorities and limits */
	{ "sched_setaffinity", EVERYWHERE },
	{ "sched_setscheduler", EVERYWHERE },
	{ "sched_setparam", EVERYWHERE },
	{ "sched_setattr", EVERYWHERE },
	{ "setpriority", EVERYWHERE },
	{ "ioprio_set", EVERYWHERE },
	{ "prlimit64", EVERYWHERE },
	/* files: modes, owners, times */
	{ "chmod", NOT_AARCH64 },
	{ "fchmod", EVERYWHERE },
	{ "fchmodat", EVERYWHERE },
	{ "fchmodat2", EVERYWHERE, 452 },
	{ "mknod", NOT_AARCH64 },
	{ "mknodat", EVERYWHERE },
	{ "creat", NOT_AARCH64 },
	{ "open", NOT_AARCH64 },
	{ "openat", EVERYWHERE },
	{ "chown", NOT_AARCH64 },
	{ "lchown", NOT_AARCH64 },
	{ "fchown", EVERYWHERE },
	{ "fchownat", EVERYWHERE },
	{ "utime", NOT_AARCH64 },
	{ "utimes", NOT_AARCH64 },
	{ "futimesat", NOT_AARCH64 },
	{ "utimensat", EVERYWHERE },
	/* files: names, contents, programs */
	{ "mkdir", NOT_AARCH64 },
	{ "mkdirat", EVERYWHERE },
	{ "rmdir", NOT_AARCH64 },
	{ "unlink", NOT_AARCH64 },
	{ "unlinkat", EVERYWHERE },
	{ "rename", NOT_AARCH64 },
	{ "renameat", EVERYWHERE },
	{ "renameat2", EVERYWHERE },
	{ "link", NOT_AARCH64 },
	{ "linkat", EVERYWHERE },
	{ "symlink", NOT_AARCH64 },
	{ "symlinkat", EVERYWHERE },
	{ "truncate", EVERYWHERE },
	{ "bind", EVERYWHERE },
	{ "execve", EVERYWHERE },
	{ "execveat", EVERYWHERE },
	/* extended attributes */
	{ "setxattr", EVERYWHERE },
	{ "lsetxattr", EVERYWHERE },
	{ "fsetxattr", EVERYWHERE },
	{ "removexattr", EVERYWHERE },
	{ "lremovexattr", EVERYWHERE },
	{ "fremovexattr", EVERYWHERE },
	{ "getxattr", EVERYWHERE },
	{ "lgetxattr", EVERYWHERE },
	{ "fgetxattr", EVERYWHERE },
	{ "listxattr", EVERYWHERE },
	{ "llistxattr", EVERYWHERE },
	{ "flistxattr", EVERYWHERE },
	{ "setxattrat", EVERYWHERE, 463 },
	{ "getxattrat", EVERYWHERE, 464 },
	{ "listxattrat", EVERYWHERE, 465 },
	{ "removexattrat", EVERYWHERE, 466 },
	/* objects of System V and POSIX */
	{ "shmget", EVERYWHERE },
	{ "shmat", EVERYWHERE },
	{ "shmctl", EVERYWHERE },
	{ "semget", EVERYWHERE },
	{ "semop", EVERYWHERE },
	{ "semctl", EVERYWHERE },
	{ "semtimedop", EVERYWHERE },
	{ "msgget", EVERYWHERE },
	{ "msgsnd", EVERYWHERE },
	{ "msgrcv", EVERYWHERE },
	{ "msgctl", EVERYWHERE },
	{ "mq_open", EVERYWHERE },
	{ "mq_unlink", EVERYWHERE },
};

static const struct filter_target targets[] = {
	{ "x86_64", SCMP_ARCH_X86_64 },
	{ "aarch64", SCMP_ARCH_AARCH64 },
};

static void die(const struct filter_target *target, const char *name, const char *why)
{
	fprintf(stderr, "gen_filter: %s: %s: %s\n", target ? target->name : "no architecture", name,
		why);
	exit(1);
}

const struct filter_target *filter_calls_target(const char *name)
{
	for (size_t i = 0; i < COUNT(targets); i++)
		if (strcmp(targets[i].name, name) == 0)
			return &targets[i];
	die(NULL, name, "no filter was made for it");
	return NULL;
}

static int row_number(const struct filter_target *target, const struct row *row)
{
	bool lacks = row->where == NOT_AARCH64 && target->token == SCMP_ARCH_AARCH64;
	int known = seccomp_syscall_resolve_name_arch(target->token, row->name);

	/* A negative number is libseccomp's own, for a call of another architecture. */
	if (lacks && known >= 0)
		die(target, row->name, "exists, but the table says that it does not");
	if (lacks)
		return -1;
	if (known < 0 && row->young == 0)
		die(target, row->name, "does not exist, but the table says that it does");
	if (known >= 0 && row->young != 0 && known != row->young)
		die(target, row->name, "has another number than the table says");
	return known >= 0 ? known : row->young;
}

int filter_calls_number(const struct filter_target *target, const char *name)
{
	for (size_t i = 0; i < COUNT(rows); i++)
		if (strcmp(rows[i].name, name) == 0)
			return row_number(target, &rows[i]);
	die(target, name, "is not in the table of calls");
	return -1;
}

void filter_calls_check(const struct filter_target *target)
{
	for (size_t i = 0; i < COUNT(rows); i++)
		(void)row_number(target, &rows[i]);
	for (int number = 0; number < FILTER_FIRST_UNKNOWN; number++) {
		char *name = seccomp_syscall_resolve_num_arch(target->token, number);

		if (name && seccomp_syscall_resolve_name_arch(SCMP_ARCH_X86_64, name) < 0)
			die(target, name, "was not looked at: x86_64 has no such call");
		free(name);
	}
}

void filter_calls_write(const struct filter_target *target, FILE *out)
{
	fprintf(out, "/* Generated by tools/gen_filter.c. */\n");
	for (size_t i = 0; i < COUNT(rows); i++)
		fprintf(out, "#define CALL_%s %d\n", rows[i].name, row_number(target, &rows[i]));
}
