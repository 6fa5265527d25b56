/* SPDX-License-Identifier: MIT */
/*
 * T-37. Connections to the proxy, which init makes for the command on a duplicate of its socket: it
 * asks for the port of the way out, and is connected to where the proxy really listens.
 *
 * The token goes first. It is for init and the proxy only, and goes into a connection once: what
 * follows it the proxy hands on to whoever the command likes. Timestamps come with a copy of what
 * was sent, also of what another thread's bytes were put together with, so init sees to it that
 * they come without. Whoever writes to the socket before the token is sent has spoilt the
 * connection: the proxy takes nothing else for a beginning.
 */
#include "broker.h"

#include "sys.h"

#include <errno.h>
#include <linux/net_tstamp.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>

/* How long the proxy may take to have room for a connection. */
#define PENDING_MS   10000
#define NETNS_COOKIE 71 /* of SOL_SOCKET; older headers lack it */

struct pending {
	uint64_t id; /* of the call; 0: the place is free */
	uint64_t until_ms;
	uint64_t inode; /* of the socket, whatever its numbers are */
	int socket;
};

static struct {
	struct way_out way;
	struct pending pending[KODA_BROKER_PENDING];
	uint64_t network; /* of init */
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
	ssize_t n;

	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) < 0 || error != 0)
		return -(error ? error : errno);
	if (!is_at_home(fd)) {
		(void)shutdown(fd, SHUT_RDWR);
		return -ENETUNREACH;
	}
	/* The first bytes of a new connection always find room. The command may have put a layer on
	 * it that waits for something else. */
	koda_broker_wake(true);
	n = send(fd, state.way.token, len, MSG_NOSIGNAL | MSG_DONTWAIT);
	koda_broker_wake(false);
	if (n != (ssize_t)len) {
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

/* What comes about later would be a connection without a token. */
static void give_up(int fd)
{
	(void)shutdown(fd, SHUT_RDWR);
	koda_asked_close(fd);
}

/* Takes fd. */
static long wait_for(uint64_t id, int fd)
{
	struct stat st;

	for (size_t i = 0; i < KODA_BROKER_PENDING && fstat(fd, &st) == 0; i++) {
		if (state.pending[i].id != 0)
			continue;
		state.pending[i] = (struct pending){ id, now_ms() + PENDING_MS, st.st_ino, fd };
		return KODA_ASKED_LATER;
	}
	give_up(fd);
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

/* Only what is not connected yet. The kernel says 0 to whoever connects first after a connection
 * has come about; and whoever waits here may have had its socket taken back by another thread. */
static long refusal_of(int fd)
{
	struct tcp_info info = { .tcpi_state = TCP_CLOSE };
	socklen_t size = sizeof(info);
	struct stat st;

	if (fstat(fd, &st) < 0 || getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) < 0)
		return -errno;
	for (size_t i = 0; i < KODA_BROKER_PENDING; i++)
		if (state.pending[i].id != 0 && state.pending[i].inode == st.st_ino)
			return -EALREADY;
	return info.tcpi_state == TCP_CLOSE      ? 0
	       : info.tcpi_state == TCP_SYN_SENT ? -EALREADY
						 : -EISCONN;
}

/* Nobody but the proxy gets the token by this socket. The command cannot set the option back. */
static long prepare(int fd)
{
	const int bare = SOF_TIMESTAMPING_OPT_TSONLY;
	long r = refusal_of(fd);

	if (r < 0)
		return r;
	if (state.network == 0 || network_of(fd) != state.network)
		return -ENETUNREACH;
	return setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPING, &bare, sizeof(bare)) < 0 ? -errno : 0;
}

/* Takes fd. */
long koda_way_connect(const struct asked *asked, int fd, struct sockaddr_storage *address,
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
		r = koda_connect_now(fd, address, len);
	}
	if (r == -EINPROGRESS && !is_writable(fd))
		return wait_for(asked->id, fd);
	if (r == 0 || r == -EINPROGRESS)
		r = finish(fd);
	koda_asked_close(fd);
	return r;
}

static uint64_t own_network(void)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	uint64_t network = network_of(fd);
	(void)close(fd);
	return network;
}

void koda_way_start(const struct way_out *way, void (*answer)(uint64_t id, long result))
{
	state.way = *way;
	state.answer = answer;
	state.network = own_network();
}

size_t koda_way_wants(struct pollfd *polled, int *ret_ms)
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

void koda_way_step(void)
{
	for (size_t i = 0; i < KODA_BROKER_PENDING; i++) {
		struct pending *p = &state.pending[i];
		bool ready = p->id != 0 && is_writable(p->socket);

		if (p->id == 0 || (!ready && now_ms() < p->until_ms))
			continue;
		state.answer(p->id, ready ? finish(p->socket) : -ETIMEDOUT);
		if (ready)
			koda_asked_close(p->socket);
		else
			give_up(p->socket);
		p->id = 0;
	}
}
