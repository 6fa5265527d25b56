/* SPDX-License-Identifier: MIT */
/*
 * T-20. A block list with an upper bound: what is newer than the calls reviewed here does not exist
 * inside. Calls that programs probe for and fall back from get ENOSYS, the rest EPERM.
 */
#include "filter_rules.h"

#include "filter_head.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/ioprio.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>

/* Returned for calls that the target lacks. */
#define LACKING __NR_SCMP_ERROR

/* The target of the rules that are being made. */
static const struct filter_target *rules_for;

static const char *const absent[] = { "clone3", "io_uring_setup", "io_uring_enter",
				      "io_uring_register", "openat2",
				      /* memory that cannot be taken back, and belongs to no file */
				      "memfd_secret" };

static const char *const refused[] = {
	/* other processes, other memory */
	"process_vm_readv",
	"process_vm_writev",
	"kcmp",
	"pidfd_getfd",
	"userfaultfd",
	"process_madvise",
	/* mounts and namespaces */
	"mount",
	"umount2",
	"pivot_root",
	"chroot",
	"open_tree",
	"move_mount",
	"fsopen",
	"fsconfig",
	"fsmount",
	"fspick",
	"mount_setattr",
	"setns",
	"open_by_handle_at",
	"fanotify_init",
	/* the kernel itself */
	"bpf",
	"perf_event_open",
	"kexec_load",
	"kexec_file_load",
	"init_module",
	"finit_module",
	"delete_module",
	"reboot",
	"swapon",
	"swapoff",
	"acct",
	"quotactl",
	"quotactl_fd",
	"syslog",
	"lookup_dcookie",
	"nfsservctl",
	"_sysctl",
	"sysfs",
	"uselib",
	"ustat",
	"vhangup",
	/* keyrings */
	"keyctl",
	"add_key",
	"request_key",
	/* time, name, hardware */
	"settimeofday",
	"clock_settime",
	"clock_adjtime",
	"adjtimex",
	"sethostname",
	"setdomainname",
	"iopl",
	"ioperm",
	"modify_ldt",
};

void filter_rules_must(int r, const char *what)
{
	if (r < 0) {
		fprintf(stderr, "gen_filter: %s: %s\n", what, strerror(-r));
		exit(1);
	}
}

bool filter_rules_are_native(const struct filter_target *target)
{
	return target->token == seccomp_arch_native();
}

/* Returns the number by which a rule names a call, or LACKING. It may be negative: libseccomp's own
 * for a call that the build machine lacks. */
static int rule_number(const char *name)
{
	int number = filter_calls_number(rules_for, name);

	if (number < 0)
		return LACKING;
	return filter_rules_are_native(rules_for) ? number : seccomp_syscall_resolve_name(name);
}

static void refuse_call(scmp_filter_ctx ctx, const char *name, int error)
{
	int number = rule_number(name);

	if (number != LACKING)
		filter_rules_must(
			seccomp_rule_add(ctx, SCMP_ACT_ERRNO((unsigned int)error), number, 0),
			name);
}

/* New namespaces by clone or unshare: only the low word counts, as in the kernel. */
static void refuse_namespaces(scmp_filter_ctx ctx)
{
	static const unsigned int flags[] = { CLONE_NEWUSER,   CLONE_NEWNS,  CLONE_NEWPID,
					      CLONE_NEWNET,    CLONE_NEWIPC, CLONE_NEWUTS,
					      CLONE_NEWCGROUP, 0x80 /* CLONE_NEWTIME */ };

	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		filter_rules_must(seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPERM),
						   rule_number("unshare"), 1,
						   SCMP_A0(SCMP_CMP_MASKED_EQ, flags[i], flags[i])),
				  "unshare");
		/* clone has the exit signal where CLONE_NEWTIME would be. */
		if (flags[i] != 0x80)
			filter_rules_must(
				seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPERM), rule_number("clone"),
						 1,
						 SCMP_A0(SCMP_CMP_MASKED_EQ, flags[i], flags[i])),
				"clone");
	}
}

/* Unix, IPv4, IPv6 and route netlink; nothing else (vsock, packet, Bluetooth ...). */
static void refuse_families(scmp_filter_ctx ctx)
{
	for (unsigned int family = 0; family <= AF_NETLINK; family++)
		if (family != AF_UNIX && family != AF_INET && family != AF_INET6 &&
		    family != AF_NETLINK)
			filter_rules_must(
				seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EAFNOSUPPORT),
						 rule_number("socket"), 1,
						 SCMP_A0(SCMP_CMP_MASKED_EQ, 0xffffffff, family)),
				"socket");
	filter_rules_must(seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EAFNOSUPPORT), rule_number("socket"),
					   1, SCMP_A0(SCMP_CMP_GT, AF_NETLINK)),
			  "socket");
	filter_rules_must(seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EAFNOSUPPORT), rule_number("socket"),
					   2, SCMP_A0(SCMP_CMP_MASKED_EQ, 0xffffffff, AF_NETLINK),
					   SCMP_A2(SCMP_CMP_NE, 0)),
			  "netlink");
	/* A pair of another family is made as two sockets of it before it turns out that there are
	 * none. */
	filter_rules_must(seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EAFNOSUPPORT),
					   rule_number("socketpair"), 1,
					   SCMP_A0(SCMP_CMP_NE, AF_UNIX)),
			  "socketpair");
}

/* Of IPv4 and IPv6 what is left is TCP, UDP and ICMP; the other families have no such numbers.
 * Others (SCTP, DCCP, L2TP ...) have the kernel load drivers, and Landlock's rule for ports is not
 * about them, multipath TCP included. By type as well: without a number the kernel looks for one
 * that fits, and takes one of them for another family's. */
static void refuse_protocols(scmp_filter_ctx ctx)
{
	static const unsigned int types[] = { SOCK_RDM, SOCK_DCCP, SOCK_PACKET };

	filter_rules_must(seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPROTONOSUPPORT),
					   rule_number("socket"), 1,
					   SCMP_A2(SCMP_CMP_GT, IPPROTO_ICMPV6)),
			  "protocols");
	filter_rules_must(seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPROTONOSUPPORT),
					   rule_number("socket"), 1,
					   SCMP_A2(SCMP_CMP_MASKED_EQ, 0xffffffff, IPPROTO_DCCP)),
			  "DCCP");
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		filter_rules_must(seccomp_rule_add(ctx, SCMP_ACT_ERRNO(ESOCKTNOSUPPORT),
						   rule_number("socket"), 1,
						   SCMP_A1(SCMP_CMP_MASKED_EQ, 0xf, types[i])),
				  "types");
	filter_rules_must(seccomp_rule_add(ctx, SCMP_ACT_ERRNO(ESOCKTNOSUPPORT),
					   rule_number("socket"), 2, SCMP_A0(SCMP_CMP_NE, AF_UNIX),
					   SCMP_A1(SCMP_CMP_MASKED_EQ, 0xf, SOCK_SEQPACKET)),
			  "packets in sequence");
}

/* The kernel takes these arguments as int: the low half. */
static void refuse_value(scmp_filter_ctx ctx, const char *name, unsigned int arg,
			 unsigned int value)
{
	filter_rules_must(seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPERM), rule_number(name), 1,
					   SCMP_CMP(arg, SCMP_CMP_MASKED_EQ, 0xffffffff, value)),
			  name);
}

/* Typing into the terminal that started us, and pasting on a console. And line disciplines: a
 * terminal of one's own is enough to have the kernel load drivers of modems and buses that are
 * hardly maintained. */
static void refuse_terminal_controls(scmp_filter_ctx ctx)
{
	static const unsigned int commands[] = { TIOCSTI, TIOCLINUX, TIOCSETD };

	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		refuse_value(ctx, "ioctl", 1, commands[i]);
}

/* A process that opens a file with a lease for writing waits for the lease's holder, up to 45
 * seconds. A lease needs read access only. Delegations (1040) are leases of directories. */
static void refuse_leases(scmp_filter_ctx ctx)
{
	refuse_value(ctx, "fcntl", 1, F_SETLEASE);
	refuse_value(ctx, "fcntl", 1, 1040);
}

/* Init watches over limits, so its own must not change. Its number is 1, and a command's never is.
 * It is also one of all the user's processes that can be seen. */
static void protect_init(scmp_filter_ctx ctx)
{
	static const char *const calls[] = { "sched_setaffinity", "sched_setscheduler",
					     "sched_setparam", "sched_setattr" };

	filter_rules_must(seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPERM), rule_number("prlimit64"), 2,
					   SCMP_A0(SCMP_CMP_MASKED_EQ, 0xffffffff, 1),
					   SCMP_A2(SCMP_CMP_NE, 0)),
			  "prlimit64");
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		refuse_value(ctx, calls[i], 0, 1);
	refuse_value(ctx, "setpriority", 1, 1);
	refuse_value(ctx, "setpriority", 0, PRIO_USER);
	refuse_value(ctx, "ioprio_set", 1, 1);
	refuse_value(ctx, "ioprio_set", 0, IOPRIO_WHO_USER);
}

/* The bits that make a program run as its owner or its group. */
static void refuse_mode(scmp_filter_ctx ctx, const char *name, unsigned int arg)
{
	static const unsigned int bits[] = { S_ISUID, S_ISGID };
	const int call = rule_number(name);

	for (size_t i = 0; call != LACKING && i < sizeof(bits) / sizeof(bits[0]); i++)
		filter_rules_must(
			seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPERM), call, 1,
					 SCMP_CMP(arg, SCMP_CMP_MASKED_EQ, bits[i], bits[i])),
			name);
}

/* Where the mode counts only if something is created. */
static void refuse_created_mode(scmp_filter_ctx ctx, const char *name, unsigned int arg)
{
	static const unsigned int bits[] = { S_ISUID, S_ISGID };
	static const unsigned int flags[] = { O_CREAT, O_TMPFILE & ~O_DIRECTORY };
	const int call = rule_number(name);

	for (size_t i = 0; call != LACKING && i < 4; i++)
		filter_rules_must(
			seccomp_rule_add(
				ctx, SCMP_ACT_ERRNO(EPERM), call, 2,
				SCMP_CMP(arg, SCMP_CMP_MASKED_EQ, flags[i / 2], flags[i / 2]),
				SCMP_CMP(arg + 1, SCMP_CMP_MASKED_EQ, bits[i % 2], bits[i % 2])),
			name);
}

/* A program that is left behind must not be its caller's way to what its owner may; the view's
 * mounts say that they count for nothing, but the host's do not. Of openat2 the mode cannot be
 * seen, so it is absent. */
static void refuse_set_id(scmp_filter_ctx ctx)
{
	refuse_mode(ctx, "chmod", 1);
	refuse_mode(ctx, "fchmod", 1);
	refuse_mode(ctx, "fchmodat", 2);
	if (filter_rules_are_native(rules_for))
		refuse_mode(ctx, FILTER_HEAD_MODE_CALL, 2);
	refuse_mode(ctx, "mknod", 1);
	refuse_mode(ctx, "mknodat", 2);
	refuse_mode(ctx, "creat", 1);
	refuse_created_mode(ctx, "open", 1);
	refuse_created_mode(ctx, "openat", 2);
}

scmp_filter_ctx filter_rules_make(const struct filter_target *target)
{
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ALLOW);

	rules_for = target;
	if (!ctx)
		exit(1);
	if (!filter_rules_are_native(rules_for)) {
		filter_rules_must(seccomp_arch_remove(ctx, SCMP_ARCH_NATIVE), "this machine");
		filter_rules_must(seccomp_arch_add(ctx, rules_for->token), rules_for->name);
	}
	filter_rules_must(seccomp_attr_set(ctx, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS),
			  "bad architecture");
	filter_rules_must(seccomp_attr_set(ctx, SCMP_FLTATR_CTL_OPTIMIZE, 2), "binary tree");
	for (size_t i = 0; i < sizeof(absent) / sizeof(absent[0]); i++)
		refuse_call(ctx, absent[i], ENOSYS);
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
		refuse_call(ctx, refused[i], EPERM);
	refuse_namespaces(ctx);
	refuse_families(ctx);
	refuse_protocols(ctx);
	protect_init(ctx);
	refuse_terminal_controls(ctx);
	refuse_leases(ctx);
	refuse_set_id(ctx);
	return ctx;
}
