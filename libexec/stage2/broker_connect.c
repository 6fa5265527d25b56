/* SPDX-License-Identifier: MIT */
/*
 * T-37, T-17. Connections that init makes for the command, on a duplicate of its socket:
 *
 *   127.0.0.1, port of the way out   to where the proxy really listens, and the token goes first
 *   a socket in the file system      if it is in the command's temporary directory, where only
 *                                    the command can have made it (T-34)
 *   an abstract socket               if it was made in the sandbox: init's own domain sees to that
 *   anything else                    as if there were no network
 *
 * The token is for init and the proxy only. Timestamps come with a copy of what was sent, also of
 * what another thread's bytes were put together with, so init sees to it that they come without.
 * Whoever writes to the socket before the token is sent has spoilt the connection: the proxy takes
 * nothing else for a beginning. The duplicate is non-blocking while it is connected, and a timer
 * ends what waits nevertheless, so that init waits for nobody (T-38).
 */
#include "broker.h"

#include "sys.h"

#include <errno.h>
#include <linux/net_tstamp.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>

/* How long the proxy may take to have room for a connection. */
#define PENDING_MS   10000
#define MOMENT_US    5000
#define PINNED_MAX   256
#define NETNS_COOKIE 71 /* of SOL_SOCKET; older headers lack it */
/* Landlock from which on no socket can be moved into the temporary directory (plan/rights.h). */
#define ABI_SETTLED 5

struct pending {
	uint64_t id; /* of the call; 0: the place is free */
	uint64_t until_ms;
	int socket;
};

static struct {
	struct way_out way;
	struct pending pending[KODA_BROKER_PENDING];
	struct koda_op *sockets; /* owned: of the host */
	size_t count;
	uint64_t network; /* of init */
	bool settled;     /* what is in the temporary directory was made there */
	bool scoped;      /* abstract sockets of others are out of init's own reach */
	void (*answer)(uint64_t id, long result);
} state;

static uint64_t now_ms(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* Who is connected to this machine by the loopback device has an address of it. Whatever made the
 * kernel choose another way, the token does not go there. */
static bool is_at_home(int fd)
{
	struct sockaddr_storage address = { .ss_family = AF_UNSPEC };
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)&address;
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)&address;
	socklen_t size = sizeof(address);

	if (getsockname(fd, (struct sockaddr *)&address, &size) < 0)
		return false;
	if (address.ss_family == AF_INET)
		return ntohl(v4->sin_addr.s_addr) >> 24 == 127;
	return address.ss_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr) &&
	       v6->sin6_addr.s6_addr[12] == 127;
}

/* The kernel has connected it, or not. */
static long finish(int fd)
{
	size_t len = strlen(state.way.token);
	socklen_t size = sizeof(int);
	int error = 0;

	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) < 0 || error != 0)
		return -(error ? error : errno);
	if (!is_at_home(fd)) {
		(void)shutdown(fd, SHUT_RDWR);
		return -ENETUNREACH;
	}
	/* The first bytes of a new connection always find room. */
	if (send(fd, state.way.token, len, MSG_NOSIGNAL | MSG_DONTWAIT) != (ssize_t)len) {
		(void)shutdown(fd, SHUT_RDWR);
		return -ECONNABORTED;
	}
	return 0;
}

static bool is_writable(int fd)
{
	struct pollfd polled = { .fd = fd, .events = POLLOUT };

	return poll(&polled, 1, 0) > 0;
}

static void wake(int number)
{
	(void)number;
}

/* While it is on, no call waits for longer than a moment. Other signals stay blocked. */
static void set_waking(bool on)
{
	const struct timeval moment = { .tv_usec = on ? MOMENT_US : 0 };
	const struct itimerval timer = { moment, moment };
	sigset_t one;

	(void)sigemptyset(&one);
	(void)sigaddset(&one, SIGALRM);
	/* What is left over must have come before it would be taken for a signal to pass on. */
	(void)setitimer(ITIMER_REAL, &timer, NULL);
	(void)sigprocmask(on ? SIG_UNBLOCK : SIG_BLOCK, &one, NULL);
}

/* Without waiting, whatever kind of socket it is. Its flags are the command's, too, which may set
 * them back at any time. */
static int connect_now(int fd, const void *address, socklen_t len)
{
	int flags = fcntl(fd, F_GETFL);
	bool waits = flags >= 0 && !(flags & O_NONBLOCK);
	int r;

	if (flags < 0 || (waits && fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0))
		return -errno;
	set_waking(true);
	r = connect(fd, address, len) < 0 ? -errno : 0;
	set_waking(false);
	if (waits)
		(void)fcntl(fd, F_SETFL, flags);
	return r == -EINTR ? -EAGAIN : r;
}

/* Takes fd. */
static long wait_for(uint64_t id, int fd)
{
	for (size_t i = 0; i < KODA_BROKER_PENDING; i++) {
		if (state.pending[i].id != 0)
			continue;
		state.pending[i] = (struct pending){ id, now_ms() + PENDING_MS, fd };
		return KODA_ASKED_LATER;
	}
	(void)close(fd);
	return -ETIMEDOUT;
}

/* Where an address leads: nowhere, if it is 0. */
static long refusal_for(const struct sockaddr_storage *address)
{
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)address;
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)address;
	bool here;
	uint16_t port;

	if (address->ss_family == AF_INET) {
		here = ntohl(v4->sin_addr.s_addr) >> 24 == 127;
		port = v4->sin_addr.s_addr == htonl(INADDR_LOOPBACK) ? ntohs(v4->sin_port) : 0;
	} else if (address->ss_family == AF_INET6) {
		static const unsigned char mapped[] = { 0, 0, 0,    0,    0,   0, 0, 0,
							0, 0, 0xff, 0xff, 127, 0, 0, 1 };
		bool same = memcmp(&v6->sin6_addr, mapped, sizeof(mapped)) == 0;

		here = same || IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr);
		port = same ? ntohs(v6->sin6_port) : 0;
	} else {
		return -EACCES;
	}
	if (state.way.inside != 0 && port == state.way.inside)
		return 0;
	return here ? -ECONNREFUSED : -ENETUNREACH;
}

/* The number of the network that a socket is of; 0: it cannot be told. */
static uint64_t network_of(int fd)
{
	uint64_t cookie = 0;
	socklen_t size = sizeof(cookie);

	return getsockopt(fd, SOL_SOCKET, NETNS_COOKIE, &cookie, &size) < 0 ? 0 : cookie;
}

/* Nobody but the proxy gets the token by this socket. The command cannot set the option back. */
static long prepare(int fd)
{
	const int bare = SOF_TIMESTAMPING_OPT_TSONLY;

	if (state.network == 0 || network_of(fd) != state.network)
		return -ENETUNREACH;
	return setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPING, &bare, sizeof(bare)) < 0 ? -errno : 0;
}

/* Takes fd. */
static long connect_inet(const struct asked *asked, int fd, struct sockaddr_storage *address,
			 socklen_t len)
{
	size_t least = address->ss_family == AF_INET6 ? sizeof(struct sockaddr_in6)
						      : sizeof(struct sockaddr_in);
	long r = len < least ? -EINVAL : refusal_for(address);

	if (r == 0)
		r = prepare(fd);
	if (r == 0) {
		/* The port is at the same place in both kinds. */
		((struct sockaddr_in *)address)->sin_port = htons(state.way.real);
		r = connect_now(fd, address, len);
	}
	if (r == -EINPROGRESS && !is_writable(fd))
		return wait_for(asked->id, fd);
	if (r == 0 || r == -EINPROGRESS)
		r = finish(fd);
	(void)close(fd);
	return r;
}

static bool is_of_host(const struct stat *st)
{
	for (size_t i = 0; i < state.count; i++)
		if (state.sockets[i].n1 == st->st_dev && state.sockets[i].n2 == st->st_ino)
			return true;
	return false;
}

static long connect_path(const struct asked *asked, int fd, const char *path)
{
	struct sockaddr_un held = { .sun_family = AF_UNIX };
	int place = koda_asked_open(asked, AT_FDCWD, path, true);
	struct stat st;
	long r;

	if (place < 0)
		return place;
	if (fstat(place, &st) < 0 || !S_ISSOCK(st.st_mode))
		r = -ECONNREFUSED;
	else if (!state.settled || is_of_host(&st) ||
		 !koda_broker_may(place, SYS_LANDLOCK_MAKE_SOCK))
		r = -EACCES;
	else {
		(void)snprintf(held.sun_path, sizeof(held.sun_path), "/proc/self/fd/%d", place);
		r = koda_asked_holds(asked) ? connect_now(fd, &held, sizeof(held)) : -EACCES;
	}
	(void)close(place);
	return r;
}

static long connect_unix(const struct asked *asked, int fd, const struct sockaddr_storage *address,
			 socklen_t len)
{
	const size_t before = offsetof(struct sockaddr_un, sun_path);
	char path[sizeof(struct sockaddr_un) - offsetof(struct sockaddr_un, sun_path) + 1] = { 0 };

	if (address->ss_family != AF_UNIX || len <= before || len > sizeof(struct sockaddr_un))
		return -EINVAL;
	memcpy(path, (const char *)address + before, len - before);
	if (path[0])
		return connect_path(asked, fd, path);
	return state.scoped ? connect_now(fd, address, len) : -EACCES;
}

/* The family of a socket, or a negative errno. */
static int family_of(int fd)
{
	int family = -1;
	socklen_t len = sizeof(family);

	return getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &family, &len) < 0 ? -errno : family;
}

long koda_broker_connect(const struct asked *asked)
{
	struct sockaddr_storage address;
	int len = (int)asked->args[2];
	int family;
	long r;
	int fd;

	if (len < (int)sizeof(sa_family_t) || (size_t)len > sizeof(address))
		return -EINVAL;
	memset(&address, 0, sizeof(address));
	r = koda_asked_copy(asked, asked->args[1], &address, (size_t)len);
	if (r < 0)
		return r;
	fd = koda_asked_fd(asked, (int)asked->args[0]);
	if (fd < 0)
		return fd;
	family = family_of(fd);
	if (family == AF_INET || family == AF_INET6)
		return connect_inet(asked, fd, &address, (socklen_t)len);
	r = family < 0          ? family
	    : family == AF_UNIX ? connect_unix(asked, fd, &address, (socklen_t)len)
				: -EACCES;
	(void)close(fd);
	return r;
}

/* Without a port of its own, what listens would be the host's to connect to. */
long koda_broker_listen(const struct asked *asked)
{
	int fd = koda_asked_fd(asked, (int)asked->args[0]);
	int family;
	long r;

	if (fd < 0)
		return fd;
	family = family_of(fd);
	r = family < 0                            ? family
	    : family != AF_UNIX                   ? -EACCES
	    : listen(fd, (int)asked->args[1]) < 0 ? -errno
						  : 0;
	(void)close(fd);
	return r;
}

static uint64_t own_network(void)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	uint64_t network = network_of(fd);
	(void)close(fd);
	return network;
}

void koda_connect_start(const struct plan *plan, const struct way_out *way,
			void (*answer)(uint64_t id, long result))
{
	/* Calls are not taken up again after it. */
	const struct sigaction waking = { .sa_handler = wake };
	long abi = koda_lock_abi();
	struct koda_op op;
	size_t at = 0;

	if (abi < 1 || sigaction(SIGALRM, &waking, NULL) < 0)
		koda_stage2_fail("supervise connections", "", errno);
	state.way = *way;
	state.answer = answer;
	state.network = own_network();
	state.settled = abi >= ABI_SETTLED;
	state.scoped = abi >= SYS_LANDLOCK_ABI_SCOPES;
	while (koda_ops_next(plan->bytes, &at, &op)) {
		struct koda_op *sockets;

		if (op.kind != KODA_OP_SOCKET)
			continue;
		sockets = realloc(state.sockets, (state.count + 1) * sizeof(*sockets));
		if (!sockets)
			koda_stage2_fail("out of memory", "", ENOMEM);
		state.sockets = sockets;
		state.sockets[state.count++] = op;
		/* Never closed, so nothing else gets its number; init needs some for itself. */
		if (state.count <= PINNED_MAX)
			(void)sys_openat2(AT_FDCWD, op.text1.ptr, O_PATH | O_NOFOLLOW,
					  RESOLVE_NO_SYMLINKS);
	}
}

size_t koda_connect_wants(struct pollfd *polled, int *ret_ms)
{
	uint64_t now = now_ms();
	size_t count = 0;

	*ret_ms = -1;
	for (size_t i = 0; i < KODA_BROKER_PENDING; i++) {
		const struct pending *p = &state.pending[i];
		int left = p->until_ms > now ? (int)(p->until_ms - now) : 0;

		if (p->id == 0)
			continue;
		polled[count++] = (struct pollfd){ .fd = p->socket, .events = POLLOUT };
		if (*ret_ms < 0 || left < *ret_ms)
			*ret_ms = left;
	}
	return count;
}

void koda_connect_step(void)
{
	for (size_t i = 0; i < KODA_BROKER_PENDING; i++) {
		struct pending *p = &state.pending[i];
		bool ready = p->id != 0 && is_writable(p->socket);

		if (p->id == 0 || (!ready && now_ms() < p->until_ms))
			continue;
		state.answer(p->id, ready ? finish(p->socket) : -ETIMEDOUT);
		(void)close(p->socket);
		p->id = 0;
	}
}
