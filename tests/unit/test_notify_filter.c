/* SPDX-License-Identifier: MIT */
/* T-37. The second filter, tried in a process of its own. Without anybody to ask, a call that would
 * be asked about does not exist; that tells it from one that is refused and one that is let
 * through.
 */
#include "koda_test.h"

#include "plan/notify_filter.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/fs.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define FASTOPEN 0x20000000L

#define ASKED ENOSYS

static const struct row {
	const char *name;
	long call;
	long args[5];
	int want; /* errno; 0: the call does what it always does */
} rows[] = {
	{ "tcp", SYS_socket, { AF_INET, SOCK_STREAM, 0 }, 0 },
	{ "tcp by number", SYS_socket, { AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 6 }, 0 },
	{ "tcp over ipv6", SYS_socket, { AF_INET6, SOCK_STREAM | SOCK_NONBLOCK, 0 }, 0 },
	{ "udp", SYS_socket, { AF_INET, SOCK_DGRAM, 0 }, EACCES },
	{ "udp over ipv6", SYS_socket, { AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 17 }, EACCES },
	{ "raw", SYS_socket, { AF_INET, SOCK_RAW, 1 }, EACCES },
	{ "ping", SYS_socket, { AF_INET, SOCK_DGRAM, 1 }, EACCES },
	{ "mptcp", SYS_socket, { AF_INET, SOCK_STREAM, 262 }, EACCES },
	{ "sctp", SYS_socket, { AF_INET, SOCK_STREAM, 132 }, EACCES },
	{ "high half of the family", SYS_socket, { AF_INET | 1L << 32, SOCK_DGRAM, 0 }, EACCES },
	{ "unix stream", SYS_socket, { AF_UNIX, SOCK_STREAM, 0 }, 0 },
	{ "unix seqpacket", SYS_socket, { AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0 }, 0 },
	{ "unix datagram", SYS_socket, { AF_UNIX, SOCK_DGRAM, 0 }, EACCES },
	{ "unix raw, which is datagram", SYS_socket, { AF_UNIX, SOCK_RAW, 0 }, EACCES },
	{ "netlink", SYS_socket, { AF_NETLINK, SOCK_RAW, 0 }, EAFNOSUPPORT },
	{ "packet", SYS_socket, { AF_PACKET, SOCK_RAW, 0 }, EAFNOSUPPORT },
	{ "vsock", SYS_socket, { AF_VSOCK, SOCK_STREAM, 0 }, EAFNOSUPPORT },
	{ "family -1", SYS_socket, { -1, SOCK_STREAM, 0 }, EAFNOSUPPORT },
	{ "pair of datagrams", SYS_socketpair, { AF_UNIX, SOCK_DGRAM, 0, 0 }, EACCES },
	{ "connecting by sending", SYS_sendto, { -1, 0, 0, FASTOPEN, 0 }, EACCES },
	{ "the same by message", SYS_sendmsg, { -1, 0, FASTOPEN }, EACCES },
	{ "the same by messages", SYS_sendmmsg, { -1, 0, 0, FASTOPEN }, EACCES },
	{ "sending", SYS_sendto, { -1, 0, 0, MSG_NOSIGNAL, 0 }, EBADF },
	{ "sending a message", SYS_sendmsg, { -1, 0, 0 }, EBADF },
	{ "connect", SYS_connect, { -1, 0, 0 }, ASKED },
	{ "listen", SYS_listen, { -1, 0 }, ASKED },
	{ "bind", SYS_bind, { -1, 0, 0 }, EBADF },
	{ "another device", SYS_setsockopt, { -1, SOL_SOCKET, SO_BINDTODEVICE, 0, 0 }, EPERM },
	{ "another device by number", SYS_setsockopt, { -1, SOL_SOCKET, 62, 0, 0 }, EPERM },
	{ "a source route", SYS_setsockopt, { -1, IPPROTO_IP, IP_OPTIONS, 0, 0 }, EPERM },
	{ "an interface", SYS_setsockopt, { -1, IPPROTO_IP, IP_UNICAST_IF, 0, 0 }, EPERM },
	{ "somebody's address", SYS_setsockopt, { -1, IPPROTO_IP, IP_TRANSPARENT, 0, 0 }, EPERM },
	{ "a routing header", SYS_setsockopt, { -1, IPPROTO_IPV6, IPV6_RTHDR, 0, 0 }, EPERM },
	{ "an old one", SYS_setsockopt, { -1, IPPROTO_IPV6, IPV6_2292RTHDR, 0, 0 }, EPERM },
	{ "older still", SYS_setsockopt, { -1, IPPROTO_IPV6, IPV6_2292PKTOPTIONS, 0, 0 }, EPERM },
	{ "an address of ipv6", SYS_setsockopt, { -1, IPPROTO_IPV6, IPV6_PKTINFO, 0, 0 }, EPERM },
	{ "an interface of ipv6",
	  SYS_setsockopt,
	  { -1, IPPROTO_IPV6, IPV6_UNICAST_IF, 0, 0 },
	  EPERM },
	{ "options of ipv6", SYS_setsockopt, { -1, IPPROTO_IPV6, IPV6_DSTOPTS, 0, 0 }, EPERM },
	{ "time to live", SYS_setsockopt, { -1, IPPROTO_IP, IP_TTL, 0, 0 }, EBADF },
	{ "ipv6 only", SYS_setsockopt, { -1, IPPROTO_IPV6, IPV6_V6ONLY, 0, 0 }, EBADF },
	{ "keeping alive", SYS_setsockopt, { -1, SOL_SOCKET, SO_KEEPALIVE, 0, 0 }, EBADF },
	{ "times of packets", SYS_setsockopt, { -1, SOL_SOCKET, 37, 0, 0 }, EPERM },
	{ "new times of packets", SYS_setsockopt, { -1, SOL_SOCKET, 65, 0, 0 }, EPERM },
	{ "a filter", SYS_setsockopt, { -1, SOL_SOCKET, SO_ATTACH_FILTER, 0, 0 }, EPERM },
	{ "a mark", SYS_setsockopt, { -1, SOL_SOCKET, SO_MARK, 0, 0 }, EPERM },
	{ "no copies", SYS_setsockopt, { -1, SOL_SOCKET, SO_ZEROCOPY, 0, 0 }, EPERM },
	{ "the last that is let", SYS_setsockopt, { -1, SOL_SOCKET, SO_PEEK_OFF, 0, 0 }, EBADF },
	{ "an option of ipv4 less", SYS_setsockopt, { -1, IPPROTO_IP, IP_TOS, 0, 0 }, EBADF },
	{ "no delay", SYS_setsockopt, { -1, IPPROTO_TCP, 1, 0, 0 }, EBADF },
	{ "mode", SYS_fchmodat, { -1, (long)"x", 0 }, ASKED },
	{ "mode of a descriptor", SYS_fchmod, { -1, 0 }, ASKED },
	{ "owner", SYS_fchownat, { -1, (long)"x", 0, 0, 0 }, ASKED },
	{ "times", SYS_utimensat, { -1, (long)"x", 0, 0 }, ASKED },
	{ "attributes", SYS_setxattr, { (long)"/", (long)"user.x", 0, 0, 0 }, EOPNOTSUPP },
	{ "reading attributes", SYS_getxattr, { (long)"/", (long)"user.x", 0, 0 }, EOPNOTSUPP },
	{ "listing attributes", SYS_listxattr, { (long)"/", 0, 0 }, EOPNOTSUPP },
	{ "watching names", SYS_inotify_init1, { 0 }, ENOSYS },
	{ "flags of a file", SYS_ioctl, { -1, FS_IOC_SETFLAGS, 0 }, ENOTTY },
	{ "other controls", SYS_ioctl, { -1, FIONREAD, 0 }, EBADF },
	{ "shared memory", SYS_shmget, { IPC_PRIVATE, 4096, 0600 }, ENOSYS },
	{ "priority of all", SYS_setpriority, { PRIO_USER, 0, 19 }, EPERM },
	{ "priority of another", SYS_setpriority, { PRIO_PROCESS, 1, 19 }, EPERM },
	{ "own priority", SYS_setpriority, { PRIO_PROCESS, 0, 19 }, 0 },
	{ "processors of another", SYS_sched_setaffinity, { 1, 0, 0 }, EPERM },
	{ "own processors", SYS_sched_setaffinity, { 0, 8, 0 }, EFAULT },
	{ "limits of another", SYS_prlimit64, { 1, RLIMIT_CORE, 1, 0 }, EPERM },
	{ "limits of another, low half 0", SYS_prlimit64, { 1, RLIMIT_CORE, 1L << 32, 0 }, EPERM },
	{ "own limits", SYS_prlimit64, { 0, RLIMIT_CORE, 0, 0 }, 0 },
};

/* In the child: what did not come out as it should, as an exit status. */
static int try_all(void)
{
	koda_auto_buf struct koda_buf program = KODA_BUF_INIT(65536);
	struct sock_fprog filter;

	if (koda_notify_filter_program(&program) < 0)
		return 200;
	filter.len = (unsigned short)(program.len / sizeof(struct sock_filter));
	filter.filter = (struct sock_filter *)(void *)program.ptr;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter) < 0)
		return 201;
	KODA_EACH(row, rows) {
		long r = syscall(row->call, row->args[0], row->args[1], row->args[2], row->args[3],
				 row->args[4]);
		int got = r < 0 ? errno : 0;

		if (got != row->want) {
			(void)fprintf(stderr, "%s: %d, expected %d\n", row->name, got, row->want);
			return 1 + (int)(row - rows);
		}
	}
	return 0;
}

static void test_calls(void **state)
{
	int status = 0;
	pid_t pid;

	(void)state;
	(void)fflush(stdout);
	pid = fork();
	if (pid == 0)
		_exit(try_all());
	assert_true(pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status));
	if (WEXITSTATUS(status) != 0)
		fail_msg("row %d", WEXITSTATUS(status));
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_calls) };

	return KODA_TEST_RUN(tests);
}
