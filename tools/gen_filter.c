/* SPDX-License-Identifier: MIT */
/*
 * T-20. Writes the system-call filter, once, at build time: a C header with the program and its
 * readable listing. Building it at run time would cost every command about a millisecond.
 *
 * The filter is a block list with an upper bound: what is newer than the calls reviewed here does
 * not exist inside. Calls that programs probe for and fall back from get ENOSYS, the rest EPERM. Of
 * calls that are many in one it is an allow list (filter_head.c).
 */
#include "filter_head.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/ioprio.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <sched.h>
#include <seccomp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/* The first number that was not looked at: everything up to mseal (462) was. */
#define FIRST_UNKNOWN 463

/* Younger than the library; the same number everywhere. */
#define FCHMODAT2 452

static const char *const absent[] = { "clone3", "io_uring_setup", "io_uring_enter",
				      "io_uring_register", "openat2",
				      /* memory that cannot be taken back, and is nobody's */
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

static void must(int r, const char *what)
{
	if (r < 0) {
		fprintf(stderr, "gen_filter: %s: %s\n", what, strerror(-r));
		exit(1);
	}
}

static void refuse_call(scmp_filter_ctx ctx, const char *name, int error)
{
	int number = seccomp_syscall_resolve_name(name);

	/* Not every architecture has every call; a negative number is one it lacks. */
	if (number >= 0)
		must(seccomp_rule_add(ctx, SCMP_ACT_ERRNO((unsigned int)error), number, 0), name);
}

/* New namespaces by clone or unshare: only the low word counts, as in the kernel. */
static void refuse_namespaces(scmp_filter_ctx ctx)
{
	static const unsigned int flags[] = { CLONE_NEWUSER,   CLONE_NEWNS,  CLONE_NEWPID,
					      CLONE_NEWNET,    CLONE_NEWIPC, CLONE_NEWUTS,
					      CLONE_NEWCGROUP, 0x80 /* CLONE_NEWTIME */ };

	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		must(seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(unshare), 1,
				      SCMP_A0(SCMP_CMP_MASKED_EQ, flags[i], flags[i])),
		     "unshare");
		/* clone has the exit signal where CLONE_NEWTIME would be. */
		if (flags[i] != 0x80)
			must(seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(clone), 1,
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
			must(seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EAFNOSUPPORT), SCMP_SYS(socket),
					      1, SCMP_A0(SCMP_CMP_MASKED_EQ, 0xffffffff, family)),
			     "socket");
	must(seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EAFNOSUPPORT), SCMP_SYS(socket), 1,
			      SCMP_A0(SCMP_CMP_GT, AF_NETLINK)),
	     "socket");
	must(seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EAFNOSUPPORT), SCMP_SYS(socket), 2,
			      SCMP_A0(SCMP_CMP_MASKED_EQ, 0xffffffff, AF_NETLINK),
			      SCMP_A2(SCMP_CMP_NE, 0)),
	     "netlink");
	/* A pair of another family is made as two sockets of it before it turns out that there are
	 * none. */
	must(seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EAFNOSUPPORT), SCMP_SYS(socketpair), 1,
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

	must(seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPROTONOSUPPORT), SCMP_SYS(socket), 1,
			      SCMP_A2(SCMP_CMP_GT, IPPROTO_ICMPV6)),
	     "protocols");
	must(seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPROTONOSUPPORT), SCMP_SYS(socket), 1,
			      SCMP_A2(SCMP_CMP_MASKED_EQ, 0xffffffff, IPPROTO_DCCP)),
	     "DCCP");
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		must(seccomp_rule_add(ctx, SCMP_ACT_ERRNO(ESOCKTNOSUPPORT), SCMP_SYS(socket), 1,
				      SCMP_A1(SCMP_CMP_MASKED_EQ, 0xf, types[i])),
		     "types");
	must(seccomp_rule_add(ctx, SCMP_ACT_ERRNO(ESOCKTNOSUPPORT), SCMP_SYS(socket), 2,
			      SCMP_A0(SCMP_CMP_NE, AF_UNIX),
			      SCMP_A1(SCMP_CMP_MASKED_EQ, 0xf, SOCK_SEQPACKET)),
	     "packets in sequence");
}

/* The kernel takes these arguments as int: the low half. */
static void refuse_value(scmp_filter_ctx ctx, int call, unsigned int arg, unsigned int value)
{
	must(seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPERM), call, 1,
			      SCMP_CMP(arg, SCMP_CMP_MASKED_EQ, 0xffffffff, value)),
	     "a value");
}

/* Typing into the terminal that started us, and pasting on a console. And line disciplines: a
 * terminal of one's own is enough to have the kernel load drivers of modems and buses that hardly
 * anybody looks after. */
static void refuse_terminal_controls(scmp_filter_ctx ctx)
{
	static const unsigned int commands[] = { TIOCSTI, TIOCLINUX, TIOCSETD };

	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		refuse_value(ctx, SCMP_SYS(ioctl), 1, commands[i]);
}

/* Whoever writes to a file with a lease waits for its holder, up to 45 seconds; a lease needs no
 * more than a file that can be read. Delegations (1040) are the same of directories. */
static void refuse_leases(scmp_filter_ctx ctx)
{
	refuse_value(ctx, SCMP_SYS(fcntl), 1, F_SETLEASE);
	refuse_value(ctx, SCMP_SYS(fcntl), 1, 1040);
}

/* Init watches over limits; nobody may change its own. Its number is 1, and a command's never is.
 * It is also one of all the user's processes that can be seen. */
static void protect_init(scmp_filter_ctx ctx)
{
	static const int calls[] = { SCMP_SYS(sched_setaffinity), SCMP_SYS(sched_setscheduler),
				     SCMP_SYS(sched_setparam), SCMP_SYS(sched_setattr) };

	must(seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(prlimit64), 2,
			      SCMP_A0(SCMP_CMP_MASKED_EQ, 0xffffffff, 1), SCMP_A2(SCMP_CMP_NE, 0)),
	     "prlimit64");
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		refuse_value(ctx, calls[i], 0, 1);
	refuse_value(ctx, SCMP_SYS(setpriority), 1, 1);
	refuse_value(ctx, SCMP_SYS(setpriority), 0, PRIO_USER);
	refuse_value(ctx, SCMP_SYS(ioprio_set), 1, 1);
	refuse_value(ctx, SCMP_SYS(ioprio_set), 0, IOPRIO_WHO_USER);
}

/* The bits that make a program run as its owner or its group. */
static void refuse_mode(scmp_filter_ctx ctx, int call, unsigned int arg, const char *name)
{
	static const unsigned int bits[] = { S_ISUID, S_ISGID };

	for (size_t i = 0; i < sizeof(bits) / sizeof(bits[0]); i++)
		must(seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPERM), call, 1,
				      SCMP_CMP(arg, SCMP_CMP_MASKED_EQ, bits[i], bits[i])),
		     name);
}

/* Where the mode counts only if something is created. */
static void refuse_created_mode(scmp_filter_ctx ctx, int call, unsigned int arg, const char *name)
{
	static const unsigned int bits[] = { S_ISUID, S_ISGID };
	static const unsigned int flags[] = { O_CREAT, O_TMPFILE & ~O_DIRECTORY };

	for (size_t i = 0; i < 4; i++)
		must(seccomp_rule_add(
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
	refuse_mode(ctx, SCMP_SYS(chmod), 1, "chmod");
	refuse_mode(ctx, SCMP_SYS(fchmod), 1, "fchmod");
	refuse_mode(ctx, SCMP_SYS(fchmodat), 2, "fchmodat");
	refuse_mode(ctx, FCHMODAT2, 2, "fchmodat2");
	refuse_mode(ctx, SCMP_SYS(mknod), 1, "mknod");
	refuse_mode(ctx, SCMP_SYS(mknodat), 2, "mknodat");
	refuse_mode(ctx, SCMP_SYS(creat), 1, "creat");
	refuse_created_mode(ctx, SCMP_SYS(open), 1, "open");
	refuse_created_mode(ctx, SCMP_SYS(openat), 2, "openat");
}

static size_t read_back(int fd, void *buffer, size_t size)
{
	ssize_t n;

	must((int)lseek(fd, 0, SEEK_SET), "seek");
	n = read(fd, buffer, size);
	must((int)n, "read");
	return (size_t)n;
}

static void write_program(FILE *out, const struct sock_filter *body, size_t count)
{
	struct sock_filter head[FILTER_HEAD_MAX];
	const size_t head_count = filter_head_make(head, FIRST_UNKNOWN);

	fprintf(out, "static const struct sock_filter filter_program[] = {\n");
	for (size_t i = 0; i < head_count + count; i++) {
		const struct sock_filter *f = i < head_count ? &head[i] : &body[i - head_count];

		fprintf(out, "\t{ 0x%04x, %u, %u, 0x%08x },\n", f->code, f->jt, f->jf, f->k);
	}
	fprintf(out, "};\n");
}

static void write_listing(FILE *out, const char *text, size_t len)
{
	fprintf(out,
		"static const char filter_listing[] =\n"
		"\t\"# numbers from %d on: ENOSYS\\n\"\n",
		FIRST_UNKNOWN);
	filter_head_list(out);
	fprintf(out, "\t\"");
	for (size_t i = 0; i < len; i++) {
		if (text[i] == '\n')
			fprintf(out, "\\n\"\n\t\"");
		else if (text[i] == '"' || text[i] == '\\')
			fprintf(out, "\\%c", text[i]);
		else
			fputc(text[i], out);
	}
	fprintf(out, "\";\n");
}

int main(int argc, char **argv)
{
	static struct sock_filter program[4096];
	static char listing[1 << 20];
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ALLOW);
	int fd = memfd_create("filter", MFD_CLOEXEC);
	size_t len;
	FILE *out;

	if (argc != 2 || !ctx || fd < 0)
		return 1;
	must(seccomp_attr_set(ctx, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS),
	     "bad architecture");
	must(seccomp_attr_set(ctx, SCMP_FLTATR_CTL_OPTIMIZE, 2), "binary tree");
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
	out = fopen(argv[1], "w");
	if (!out)
		return 1;
	must(seccomp_export_bpf(ctx, fd), "export");
	len = read_back(fd, program, sizeof(program));
	fprintf(out, "/* Generated by tools/gen_filter.c. */\n");
	write_program(out, program, len / sizeof(program[0]));
	must(ftruncate(fd, 0), "truncate");
	must((int)lseek(fd, 0, SEEK_SET), "seek");
	must(seccomp_export_pfc(ctx, fd), "list");
	len = read_back(fd, listing, sizeof(listing));
	write_listing(out, listing, len);
	seccomp_release(ctx);
	return fclose(out) == 0 ? 0 : 1;
}
