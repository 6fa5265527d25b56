/* SPDX-License-Identifier: MIT */
/*
 * T-37. Connections to the proxy, which init makes for the command on a duplicate of its socket.
 * The command connects to the port of the plan, and init to the port at which the proxy listens.
 *
 * The token goes first. Only init and the proxy know it, and it goes into each connection once: the
 * proxy passes all later bytes on to hosts that the command chooses. Timestamps on the error queue
 * come with a copy of what was sent, so init sets SOF_TIMESTAMPING_OPT_TSONLY, and they come
 * without. A command that writes to the socket before the token is sent only spoils its connection:
 * the proxy accepts no other first bytes.
 */
#include "landlock/broker_proxy.h"

#include "landlock/alarm.h"
#include "sys.h"

#include <errno.h>
#include <linux/net_tstamp.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>

/* How long the proxy may take to accept a connection. */
#define PENDING_MS   10000
#define NETNS_COOKIE 71 /* SO_NETNS_COOKIE; older headers lack it */

struct pending {
	uint64_t id; /* of the call; 0: the entry is free */
	uint64_t until_ms;
	uint64_t inode; /* of the socket, which has different descriptors in the command */
	int socket;
};

static struct {
	struct proxy_route route;
	struct pending pending[STAGE2_BROKER_PENDING];
	uint64_t network; /* cookie of init's network namespace */
	void (*answer)(uint64_t id, long result);
} state;

static uint64_t now_ms(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* Returns true if the socket has a loopback address of its own, as every connection over the
 * loopback device has. If the kernel has chosen another route, the token is not sent. */
static bool has_loopback_address(int fd)
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

/* Decides a connection that the kernel has made, or refused. Returns 0 or a negative errno. */
static long finish(int fd)
{
	size_t len = strlen(state.route.token);
	socklen_t size = sizeof(int);
	int error = 0;
	ssize_t n;

	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) < 0 || error != 0)
		return -(error ? error : errno);
	if (!has_loopback_address(fd)) {
		(void)shutdown(fd, SHUT_RDWR);
		return -ENETUNREACH;
	}
	/* The first bytes of a new connection always fit into its buffer. The command may have put
	 * a layer such as TLS (TCP_ULP) on the socket that blocks. */
	stage2_alarm_set(true);
	n = send(fd, state.route.token, len, MSG_NOSIGNAL | MSG_DONTWAIT);
	stage2_alarm_set(false);
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

/* Shuts the socket down: a connection that comes about later would begin without a token. */
static void give_up(int fd)
{
	(void)shutdown(fd, SHUT_RDWR);
	stage2_brokered_call_close(fd);
}

/* Keeps a connection pending. Takes fd. */
static long wait_for(uint64_t id, int fd)
{
	struct stat st;

	for (size_t i = 0; i < STAGE2_BROKER_PENDING && fstat(fd, &st) == 0; i++) {
		if (state.pending[i].id != 0)
			continue;
		state.pending[i] = (struct pending){ id, now_ms() + PENDING_MS, st.st_ino, fd };
		return STAGE2_BROKERED_CALL_PENDING;
	}
	give_up(fd);
	return -ETIMEDOUT;
}

/* Returns 0 if the address is the proxy's, or a negative errno. */
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
	if (state.route.inside != 0 && port == state.route.inside)
		return 0;
	return here ? -ECONNREFUSED : -ENETUNREACH;
}

/* Returns the cookie of a socket's network namespace; 0: unknown. */
static uint64_t network_of(int fd)
{
	uint64_t cookie = 0;
	socklen_t size = sizeof(cookie);

	return getsockopt(fd, SOL_SOCKET, NETNS_COOKIE, &cookie, &size) < 0 ? 0 : cookie;
}

/* Returns 0 if the socket is not connected yet, or a negative errno. connect returns 0 once after a
 * pending connection was made, and another thread may have disconnected a socket that is pending
 * here. */
static long refusal_of(int fd)
{
	struct tcp_info info = { .tcpi_state = TCP_CLOSE };
	socklen_t size = sizeof(info);
	struct stat st;

	if (fstat(fd, &st) < 0 || getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) < 0)
		return -errno;
	for (size_t i = 0; i < STAGE2_BROKER_PENDING; i++)
		if (state.pending[i].id != 0 && state.pending[i].inode == st.st_ino)
			return -EALREADY;
	return info.tcpi_state == TCP_CLOSE      ? 0
	       : info.tcpi_state == TCP_SYN_SENT ? -EALREADY
						 : -EISCONN;
}

/* Makes sure that only the proxy gets the token by this socket. The command cannot clear the
 * option: setsockopt for it is filtered. */
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
long stage2_broker_proxy_connect(const struct brokered_call *call, int fd,
				 struct sockaddr_storage *address, socklen_t len)
{
	size_t least = address->ss_family == AF_INET6 ? sizeof(struct sockaddr_in6)
						      : sizeof(struct sockaddr_in);
	long r = len < least ? -EINVAL : refusal_for(address);

	if (r == 0)
		r = prepare(fd);
	if (r == 0) {
		/* Both structures have the port at one offset. */
		((struct sockaddr_in *)address)->sin_port = htons(state.route.real);
		r = stage2_brokered_call_connect(fd, address, len);
	}
	if (r == -EINPROGRESS && !is_writable(fd))
		return wait_for(call->id, fd);
	if (r == 0 || r == -EINPROGRESS)
		r = finish(fd);
	stage2_brokered_call_close(fd);
	return r;
}

static uint64_t own_network(void)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	uint64_t network = network_of(fd);
	(void)close(fd);
	return network;
}

void stage2_broker_proxy_start(const struct proxy_route *route,
			       void (*answer)(uint64_t id, long result))
{
	state.route = *route;
	state.answer = answer;
	state.network = own_network();
}

size_t stage2_broker_proxy_wants(struct pollfd *polled, int *ret_ms)
{
	uint64_t now = now_ms();
	size_t count = 0;

	*ret_ms = -1;
	for (size_t i = 0; i < STAGE2_BROKER_PENDING; i++) {
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

void stage2_broker_proxy_step(void)
{
	for (size_t i = 0; i < STAGE2_BROKER_PENDING; i++) {
		struct pending *p = &state.pending[i];
		bool ready = p->id != 0 && is_writable(p->socket);

		if (p->id == 0 || (!ready && now_ms() < p->until_ms))
			continue;
		state.answer(p->id, ready ? finish(p->socket) : -ETIMEDOUT);
		if (ready)
			stage2_brokered_call_close(p->socket);
		else
			give_up(p->socket);
		p->id = 0;
	}
}
