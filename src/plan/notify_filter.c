/* SPDX-License-Identifier: MIT */
/*
 * T-37. The second filter, for machines without namespaces. Calls that a namespace would isolate
 * are refused. Calls that depend on memory behind a pointer are brokered: init performs them, or
 * refuses (SECCOMP_RET_USER_NOTIF). The first filter has checked the architecture.
 */
#include "plan/notify_filter.h"

#include "plan/call_filter.h"
#include "plan/call_numbers.h"

#include <errno.h>
#include <linux/fs.h>
#include <linux/ioprio.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>

#ifndef MSG_FASTOPEN
#define MSG_FASTOPEN 0x20000000
#endif
/* Options of SOL_SOCKET by number, because older headers lack them. */
#define RCVTIMEO_NEW 66
#define SNDTIMEO_NEW 67
#define PASSPIDFD    76
#define TYPE_MASK    0xf /* of a socket's type: the rest are flags */
#define TCP          6

/* Brokered calls: init performs them, if their target is one that the command may change or reach.
 */
static const int brokered[] = {
	CALL_connect,  CALL_listen,    CALL_fchmod, CALL_fchmodat, CALL_fchmodat2, CALL_fchown,
	CALL_fchownat, CALL_utimensat, CALL_chmod,  CALL_chown,    CALL_lchown,
};

static const struct {
	int number;
	int error;
} refused[] = {
	/* System V and POSIX queues, semaphores and shared memory belong to the whole host. */
	{ CALL_shmget, ENOSYS },
	{ CALL_shmat, ENOSYS },
	{ CALL_shmctl, ENOSYS },
	{ CALL_semget, ENOSYS },
	{ CALL_semop, ENOSYS },
	{ CALL_semctl, ENOSYS },
	{ CALL_semtimedop, ENOSYS },
	{ CALL_msgget, ENOSYS },
	{ CALL_msgsnd, ENOSYS },
	{ CALL_msgrcv, ENOSYS },
	{ CALL_msgctl, ENOSYS },
	{ CALL_mq_open, ENOSYS },
	{ CALL_mq_unlink, ENOSYS },
	/* Landlock has no right for extended attributes. */
	{ CALL_setxattr, EOPNOTSUPP },
	{ CALL_lsetxattr, EOPNOTSUPP },
	{ CALL_fsetxattr, EOPNOTSUPP },
	{ CALL_removexattr, EOPNOTSUPP },
	{ CALL_lremovexattr, EOPNOTSUPP },
	{ CALL_fremovexattr, EOPNOTSUPP },
	/* T-36. Landlock does not keep them, inotify or the mount table of hidden paths from being
	 * read. */
	{ CALL_getxattr, EOPNOTSUPP },
	{ CALL_lgetxattr, EOPNOTSUPP },
	{ CALL_fgetxattr, EOPNOTSUPP },
	{ CALL_listxattr, EOPNOTSUPP },
	{ CALL_llistxattr, EOPNOTSUPP },
	{ CALL_flistxattr, EOPNOTSUPP },
	{ CALL_setxattrat, ENOSYS },
	{ CALL_getxattrat, ENOSYS },
	{ CALL_listxattrat, ENOSYS },
	{ CALL_removexattrat, ENOSYS },
	{ CALL_inotify_init1, ENOSYS },
	{ CALL_inotify_init, ENOSYS },
	{ CALL_statmount, ENOSYS },
	{ CALL_listmount, ENOSYS },
	{ CALL_utime, ENOSYS },
	{ CALL_utimes, ENOSYS },
	{ CALL_futimesat, ENOSYS },
	/* Change other processes. */
	{ CALL_migrate_pages, EPERM },
	{ CALL_move_pages, EPERM },
};

/* Each part starts with the number of the call in the accumulator, and ends with an action. */
static const struct sock_filter on_socket[] = {
	ARG(0),
	IS(AF_UNIX, 2, 0),
	IS(AF_INET, 5, 0),
	IS(AF_INET6, 4, 12),
	/* A datagram socket could send to a path without connect(2). */
	ARG(1),
	MASK(TYPE_MASK),
	IS(SOCK_STREAM, 8, 0),
	IS(SOCK_SEQPACKET, 7, 6),
	/* Plain TCP, which init connects. */
	ARG(1),
	MASK(TYPE_MASK),
	IS(SOCK_STREAM, 0, 3),
	ARG(2),
	IS(0, 2, 0),
	IS(TCP, 1, 0),
	ANSWER(REFUSE(EACCES)),
	ANSWER(ALLOW),
	ANSWER(REFUSE(EAFNOSUPPORT)),
};

static const struct sock_filter on_socketpair[] = {
	ARG(1),
	MASK(TYPE_MASK),
	IS(SOCK_STREAM, 2, 0),
	IS(SOCK_SEQPACKET, 1, 0),
	ANSWER(REFUSE(EACCES)),
	ANSWER(ALLOW),
};

/* MSG_FASTOPEN connects without connect(2). */
#define ON_SEND(flags)                                                                             \
	{                                                                                          \
		ARG(flags), HAS(MSG_FASTOPEN, 0, 1), ANSWER(REFUSE(EACCES)), ANSWER(ALLOW)         \
	}
static const struct sock_filter on_sendto[] = ON_SEND(3);
static const struct sock_filter on_sendmsg[] = ON_SEND(2);
static const struct sock_filter on_sendmmsg[] = ON_SEND(3);

/* Only for the calling process. */
#define ON_SELF(who)                                                                               \
	{                                                                                          \
		ARG(who), IS(0, 1, 0), ANSWER(REFUSE(EPERM)), ANSWER(ALLOW)                        \
	}
static const struct sock_filter on_schedule[] = ON_SELF(0);

#define ON_PRIORITY(which)                                                                         \
	{                                                                                          \
		ARG(0), IS(which, 0, 2), ARG(1), IS(0, 1, 0), ANSWER(REFUSE(EPERM)), ANSWER(ALLOW) \
	}
static const struct sock_filter on_setpriority[] = ON_PRIORITY(PRIO_PROCESS);
static const struct sock_filter on_ioprio[] = ON_PRIORITY(IOPRIO_WHO_PROCESS);

/* Reading the limits of another process is harmless: the pointer to new ones is NULL, in both
 * halves. */
static const struct sock_filter on_prlimit[] = {
	ARG(0),
	IS(0, 5, 0),
	ARG(2),
	IS(0, 0, 2),
	{ BPF_LD | BPF_W | BPF_ABS, 0, 0,
	  (unsigned int)offsetof(struct seccomp_data, args[2]) + 4 },
	IS(0, 1, 0),
	ANSWER(REFUSE(EPERM)),
	ANSWER(ALLOW),
};

static const struct sock_filter on_ioctl[] = {
	ARG(1),
	IS(FS_IOC_SETFLAGS, 3, 0),
	IS(FS_IOC_FSSETXATTR, 2, 0),
	IS(FS_IOC_SETVERSION, 1, 0),
	ANSWER(ALLOW),
	ANSWER(REFUSE(ENOTTY)),
};

/* Options of SOL_SOCKET that programs use are allowed. Others bind to a device, or return data that
 * init sends: a transmit timestamp comes with a copy of the packet. For IP, options that put a
 * source route into packets are refused. */
static const struct sock_filter on_setsockopt[] = {
	ARG(1),
	IS(SOL_SOCKET, 19, 0),
	IS(IPPROTO_IP, 2, 0),
	IS(IPPROTO_IPV6, 6, 0),
	ANSWER(ALLOW),
	ARG(2),
	IS(IP_OPTIONS, 13, 0),
	IS(IP_UNICAST_IF, 12, 0),
	IS(IP_TRANSPARENT, 11, 0),
	ANSWER(ALLOW),
	ARG(2),
	IS(IPV6_RTHDR, 8, 0),
	IS(IPV6_2292RTHDR, 7, 0),
	IS(IPV6_2292PKTOPTIONS, 6, 0),
	IS(IPV6_PKTINFO, 5, 0),
	IS(IPV6_UNICAST_IF, 4, 0),
	IS(IPV6_TRANSPARENT, 3, 0),
	IS(IPV6_HOPOPTS, 2, 0),
	IS(IPV6_DSTOPTS, 1, 0),
	ANSWER(ALLOW),
	ANSWER(REFUSE(EPERM)),
	ARG(2),
	LET(SO_REUSEADDR),
	LET(SO_BROADCAST),
	LET(SO_SNDBUF),
	LET(SO_RCVBUF),
	LET(SO_KEEPALIVE),
	LET(SO_OOBINLINE),
	LET(SO_PRIORITY),
	LET(SO_LINGER),
	LET(SO_REUSEPORT),
	LET(SO_PASSCRED),
	LET(SO_RCVLOWAT),
	LET(SO_RCVTIMEO),
	LET(SO_SNDTIMEO),
	LET(RCVTIMEO_NEW),
	LET(SNDTIMEO_NEW),
	LET(SO_PASSSEC),
	LET(PASSPIDFD),
	LET(SO_PEEK_OFF),
	ANSWER(REFUSE(EPERM)),
};

int koda_notify_filter_program(struct koda_buf *out)
{
	static const struct sock_filter ask = ANSWER(SECCOMP_RET_USER_NOTIF);
	static const struct koda_call_filter_word parts[] = {
#define PART(call, part) { CALL_##call, part, KODA_ARRAY_LEN(part) }
		PART(socket, on_socket),
		PART(socketpair, on_socketpair),
		PART(setsockopt, on_setsockopt),
		PART(sendto, on_sendto),
		PART(sendmsg, on_sendmsg),
		PART(sendmmsg, on_sendmmsg),
		PART(sched_setaffinity, on_schedule),
		PART(sched_setscheduler, on_schedule),
		PART(sched_setparam, on_schedule),
		PART(sched_setattr, on_schedule),
		PART(setpriority, on_setpriority),
		PART(ioprio_set, on_ioprio),
		PART(prlimit64, on_prlimit),
		PART(ioctl, on_ioctl),
#undef PART
	};
	struct sock_filter answers[KODA_ARRAY_LEN(refused)];
	struct koda_call_filter_word
		words[KODA_ARRAY_LEN(parts) + KODA_ARRAY_LEN(brokered) + KODA_ARRAY_LEN(refused)];
	size_t all = 0;

	for (size_t i = 0; i < KODA_ARRAY_LEN(parts); i++)
		words[all++] = parts[i];
	for (size_t i = 0; i < KODA_ARRAY_LEN(brokered); i++)
		words[all++] = (struct koda_call_filter_word){ brokered[i], &ask, 1 };
	for (size_t i = 0; i < KODA_ARRAY_LEN(refused); i++) {
		answers[i] = (struct sock_filter)ANSWER(REFUSE(refused[i].error));
		words[all++] = (struct koda_call_filter_word){ refused[i].number, &answers[i], 1 };
	}
	return koda_call_filter_program(words, all, out);
}
