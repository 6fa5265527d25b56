/* SPDX-License-Identifier: MIT */
/*
 * T-20. Calls that are many in one, of which only those listed here pass: what is new in the
 * next kernel does not. libseccomp cannot say "none of these", so it is written by hand.
 */
#include "filter_head.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>

/* Requests to devices and file systems: by a directory that is only open for
 * reading some do what other calls do by path. A snapshot of Btrfs has all files of its source,
 * uncovered, and appears where Landlock lets nothing be made; bcachefs and OCFS2 have the same,
 * others change layout, generation or encryption, and new ones come with every kernel. Devices are
 * Landlock's business besides. What is not listed looks as if this file system lacked it.
 *
 * Blocks that have nothing to do with files, or only tell: terminals (but see below) and what is
 * asked of any descriptor, sockets, blocks of a file, listeners of filters. Further requests of
 * sockets are for bridges and tunnels, and have the kernel load drivers for them. */
#define BLOCK 0xffc0U
static const unsigned int blocks[] = { TCGETS & BLOCK, FIOCLEX &BLOCK, 0x8900, 0x0000, 0x2100 };

/* Of other blocks, by kind and number; the size differs from one architecture to the next. */
static const unsigned int requests[] = {
	FIOCLEX, FIONCLEX, FIONBIO, FIOASYNC, FIONREAD, /* where these are no terminal's */
	0x8946,                                         /* what a network device can do */
	0x660b,  0x6601,   0x6602,                      /* extents; flags to be read and set */
	0x6603,  0x7601,   0x6686,                      /* generation and verity, to be read */
	0x581f,  0x5820,                                /* XFS and others: flags and project */
	0x581e,  0x5838,   0x587c,  0x587e,             /* alignment, extents, geometry */
	0x9409,  0x940d,   0x9436 /* Btrfs and others: clones of files, and duplicates */
};

#define BLOCKS   (sizeof(blocks) / sizeof(blocks[0]))
#define REQUESTS (sizeof(requests) / sizeof(requests[0]))

/* Looking at a process that stands still, as LeakSanitizer does at the end of every program built
 * with it. No more: debuggers change what they look at, and are a large part of the kernel that
 * no other program needs. Which processes may be traced is decided by Landlock and by init. */
#define GETREGS 12 /* x86 only; another request, or none, elsewhere */
static const unsigned int looks[] = { PTRACE_ATTACH, PTRACE_DETACH, PTRACE_CONT,
				      PTRACE_KILL,   GETREGS,       PTRACE_GETREGSET };

/* A jump whose offset is known only when all lists have been written. */
#define TO_THE_END 0xff

#define LOOKS (sizeof(looks) / sizeof(looks[0]))

static bool is_in_a_block(unsigned int request)
{
	for (size_t i = 0; i < BLOCKS; i++)
		if ((request & BLOCK) == blocks[i])
			return true;
	return false;
}

static bool is_look_of(const struct filter_target *target, unsigned int request)
{
	return request != GETREGS || strcmp(target->name, "x86_64") == 0;
}

/* Returns the number of a call that every architecture has. */
static unsigned int number_of(const struct filter_target *target, const char *name)
{
	return (unsigned int)filter_calls_number(target, name);
}

static size_t add(struct sock_filter *head, size_t n, unsigned int code, unsigned int k)
{
	head[n] = (struct sock_filter){ .code = (unsigned short)code, .k = k };
	return n + 1;
}

/* Only the low word counts; whatever is in the high one, the kernel knows no such request. */
static size_t load_argument(struct sock_filter *head, size_t n, unsigned int which)
{
	return add(head, n, BPF_LD | BPF_W | BPF_ABS,
		   (unsigned int)(offsetof(struct seccomp_data, args) + which * sizeof(__u64)));
}

/* An entry of a list: what is equal to it passes, behind all lists. */
static size_t add_entry(struct sock_filter *head, size_t n, unsigned int k)
{
	n = add(head, n, BPF_JMP | BPF_JEQ | BPF_K, k);
	head[n - 1].jt = TO_THE_END;
	return n;
}

/* Ends the list that began at first, with the call that it is of; another call goes on behind. */
static size_t end(struct sock_filter *head, size_t n, size_t first, unsigned int error)
{
	n = add(head, n, BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error);
	head[first].jf = (unsigned char)(n - first - 1);
	return n;
}

static size_t list_ioctl(struct sock_filter *head, size_t n, const struct filter_target *target)
{
	size_t first = n;

	n = add(head, n, BPF_JMP | BPF_JEQ | BPF_K, number_of(target, "ioctl"));
	n = load_argument(head, n, 1);
	n = add(head, n, BPF_ALU | BPF_AND | BPF_K, BLOCK);
	for (size_t i = 0; i < BLOCKS; i++)
		n = add_entry(head, n, blocks[i]);
	n = load_argument(head, n, 1);
	n = add(head, n, BPF_ALU | BPF_AND | BPF_K, 0xffff);
	for (size_t i = 0; i < REQUESTS; i++)
		if (!is_in_a_block(requests[i]))
			n = add_entry(head, n, requests[i] & 0xffff);
	return end(head, n, first, ENOTTY);
}

static size_t list_ptrace(struct sock_filter *head, size_t n, const struct filter_target *target)
{
	size_t first = n;

	n = add(head, n, BPF_JMP | BPF_JEQ | BPF_K, number_of(target, "ptrace"));
	n = load_argument(head, n, 0);
	for (size_t i = 0; i < LOOKS; i++)
		if (is_look_of(target, looks[i]))
			n = add_entry(head, n, looks[i]);
	return end(head, n, first, EPERM);
}

/* The bits that make a program run as its owner or its group. */
#define SET_ID (S_ISUID | S_ISGID)

static size_t refuse_mode(struct sock_filter *head, size_t n, const struct filter_target *target)
{
	n = add(head, n, BPF_JMP | BPF_JEQ | BPF_K, number_of(target, FILTER_HEAD_MODE_CALL));
	head[n - 1].jf = 3;
	n = load_argument(head, n, 2);
	n = add(head, n, BPF_JMP | BPF_JSET | BPF_K, SET_ID);
	head[n - 1].jf = 1;
	return add(head, n, BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
}

size_t filter_head_make(struct sock_filter head[FILTER_HEAD_MAX],
			const struct filter_target *target, bool body_has_mode)
{
	size_t n = add(head, 0, BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));

	n = add(head, n, BPF_JMP | BPF_JGE | BPF_K, FILTER_FIRST_UNKNOWN);
	head[n - 1].jf = 1;
	n = add(head, n, BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS);
	n = list_ioctl(head, n, target);
	n = list_ptrace(head, n, target);
	if (!body_has_mode)
		n = refuse_mode(head, n, target);
	for (size_t i = 0; i < n; i++)
		if (head[i].jt == TO_THE_END)
			head[i].jt = (unsigned char)(n - i - 1);
	return n;
}

void filter_head_list(FILE *out, const struct filter_target *target, bool body_has_mode)
{
	if (!body_has_mode)
		fprintf(out, "\t\"# %s: EPERM for modes with %#o\\n\"\n", FILTER_HEAD_MODE_CALL,
			SET_ID);
	fprintf(out, "\t\"# ptrace: EPERM but for");
	for (size_t i = 0; i < LOOKS; i++)
		if (is_look_of(target, looks[i]))
			fprintf(out, " %04x", looks[i]);
	fprintf(out, "\\n\"\n\t\"# ioctl: ENOTTY but for");
	for (size_t i = 0; i < BLOCKS; i++)
		fprintf(out, " %04x-%04x", blocks[i], blocks[i] | (0xffffU & ~BLOCK));
	fprintf(out, "\\n\"\n\t\"#        and requests");
	for (size_t i = 0; i < REQUESTS; i++)
		if (!is_in_a_block(requests[i]))
			fprintf(out, " %04x", requests[i] & 0xffff);
	fprintf(out, "\\n\"\n");
}
