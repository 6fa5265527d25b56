/* SPDX-License-Identifier: MIT */
/* What the proxy is measured with: an origin, and a relay that does nothing but relay. */
#include "bench_peers.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define BATCH 256
#define CHUNK (1024 * 1024)

int peer_listen(uint16_t *ret_port)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(at);
	const int on = 1;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&at, len) < 0 || listen(fd, 4096) < 0 ||
	    getsockname(fd, (struct sockaddr *)&at, &len) < 0)
		abort();
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	*ret_port = ntohs(at.sin_port);
	return fd;
}

static int add(int set, int fd, void *ptr, uint32_t events)
{
	struct epoll_event event = { .events = events, .data.ptr = ptr };

	return epoll_ctl(set, EPOLL_CTL_ADD, fd, &event);
}

/* Sends for as long as the other side takes it; blocks, in a process of its own. */
static void pour(int fd)
{
	static char zeros[CHUNK];
	int flags = fcntl(fd, F_GETFL);

	if (fork() != 0) {
		(void)close(fd);
		return;
	}
	(void)fcntl(fd, F_SETFL, flags & ~O_NONBLOCK);
	while (send(fd, zeros, sizeof(zeros), MSG_NOSIGNAL) > 0)
		;
	_exit(0);
}

void peer_origin(int listener)
{
	struct epoll_event batch[BATCH];
	int set = epoll_create1(EPOLL_CLOEXEC);

	(void)add(set, listener, (void *)(intptr_t)listener, EPOLLIN);
	for (;;) {
		int n = epoll_wait(set, batch, BATCH, -1);

		for (int i = 0; i < n; i++) {
			int fd = (int)(intptr_t)batch[i].data.ptr;
			char byte;
			ssize_t got;

			if (fd == listener) {
				fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
				if (fd >= 0)
					(void)add(set, fd, (void *)(intptr_t)fd, EPOLLIN);
				continue;
			}
			got = recv(fd, &byte, 1, 0);
			if (got == 1 && byte == 2)
				pour(fd);
			else if (got == 1)
				(void)send(fd, &byte, 1, MSG_NOSIGNAL);
			else if (got == 0 || errno != EAGAIN)
				(void)close(fd);
		}
	}
}

/* One side of a relayed connection. */
struct side {
	struct side *other;
	int fd;
	int pipe[2];
	size_t piped;
	int connected; /* the CONNECT was read and answered */
	int dead;
};

static int relay_connect(struct side *client, int set)
{
	struct sockaddr_in to = { .sin_family = AF_INET };
	const int on = 1;
	char head[2048];
	char *colon;
	ssize_t n = recv(client->fd, head, sizeof(head) - 1, 0);
	struct side *origin = client->other;

	if (n <= 0)
		return n < 0 && errno == EAGAIN ? 0 : -1;
	head[n] = '\0';
	colon = strchr(head + 8, ':');
	if (strncmp(head, "CONNECT ", 8) != 0 || !colon)
		return -1;
	*colon = '\0';
	to.sin_port = htons((uint16_t)strtoul(colon + 1, NULL, 10));
	if (inet_pton(AF_INET, head + 8, &to.sin_addr) != 1)
		return -1;
	origin->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	(void)setsockopt(origin->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	if (connect(origin->fd, (struct sockaddr *)&to, sizeof(to)) < 0 && errno != EINPROGRESS)
		return -1;
	client->connected = 1;
	return add(set, origin->fd, origin, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET);
}

/* Pipes that are empty, for the next connection. */
static struct {
	int ends[4096][2];
	size_t count;
} pool;

static int take_pipe(int ends[2])
{
	if (pool.count > 0) {
		pool.count--;
		ends[0] = pool.ends[pool.count][0];
		ends[1] = pool.ends[pool.count][1];
		return 0;
	}
	if (pipe2(ends, O_NONBLOCK | O_CLOEXEC) < 0)
		return -1;
	(void)fcntl(ends[1], F_SETPIPE_SZ, CHUNK);
	return 0;
}

static void give_pipe(const struct side *side)
{
	if (side->pipe[0] < 0)
		return;
	if (side->piped == 0 && pool.count < 4096) {
		pool.ends[pool.count][0] = side->pipe[0];
		pool.ends[pool.count++][1] = side->pipe[1];
		return;
	}
	(void)close(side->pipe[0]);
	(void)close(side->pipe[1]);
}

/* Moves what there is from one side to the other. -1: the end. */
static int relay_move(struct side *from)
{
	struct side *to = from->other;

	if (from->pipe[0] < 0 && take_pipe(from->pipe) < 0)
		return -1;
	for (;;) {
		ssize_t n;

		while (from->piped > 0) {
			n = splice(from->pipe[0], NULL, to->fd, NULL, from->piped,
				   SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
			if (n <= 0)
				return n < 0 && errno == EAGAIN ? 0 : -1;
			from->piped -= (size_t)n;
		}
		n = splice(from->fd, NULL, from->pipe[1], NULL, CHUNK,
			   SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
		if (n <= 0)
			return n < 0 && errno == EAGAIN ? 0 : -1;
		from->piped = (size_t)n;
	}
}

static void relay_event(struct side *side, uint32_t events, int set)
{
	static const char ok[] = "HTTP/1.1 200 Connection established\r\n\r\n";
	struct side *pair = side < side->other ? side : side->other;
	struct side *client = &pair[0];
	int r = 0;

	if (pair->dead)
		return;
	if (side == client && !client->connected) {
		r = relay_connect(client, set);
	} else if (side != client && !side->connected) {
		if (events & EPOLLOUT) {
			side->connected = 1;
			r = send(client->fd, ok, sizeof(ok) - 1, MSG_NOSIGNAL) < 0 ? -1 : 0;
		}
	}
	if (r == 0 && pair[1].connected && (events & EPOLLIN))
		r = relay_move(side);
	if (r == 0 && pair[1].connected && (events & EPOLLOUT) && side->other->piped > 0)
		r = relay_move(side->other);
	if (r == 0)
		return;
	for (int i = 0; i < 2; i++) {
		(void)close(pair[i].fd);
		give_pipe(&pair[i]);
	}
	pair->dead = 1;
}

void peer_relay(int listener)
{
	struct epoll_event batch[BATCH];
	int set = epoll_create1(EPOLL_CLOEXEC);

	(void)add(set, listener, NULL, EPOLLIN);
	for (;;) {
		int n = epoll_wait(set, batch, BATCH, -1);

		for (int i = 0; i < n; i++) {
			struct side *pair = batch[i].data.ptr;
			int fd;

			if (pair) {
				relay_event(pair, batch[i].events, set);
				continue;
			}
			fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
			/* Never freed: an event may be in the batch, and this is a benchmark. */
			pair = fd >= 0 ? calloc(2, sizeof(*pair)) : NULL;
			if (!pair)
				continue;
			pair[0] = (struct side){ .other = &pair[1], .fd = fd, .pipe = { -1, -1 } };
			pair[1] = (struct side){ .other = &pair[0], .fd = -1, .pipe = { -1, -1 } };
			(void)add(set, fd, pair, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET);
		}
	}
}
