/* SPDX-License-Identifier: MIT */
/* Reaching somebody over the network, by address: no name is looked up. */
#include "probe.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

/* How long an answer is waited for. */
#define ANSWER_S 3

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

/* A socket of type that is connected to ADDRESS PORT; -1 with errno. */
static int connect_to(char **arg, int type)
{
	union address to = { .v6 = { .sin6_family = AF_INET6 } };
	in_port_t port = htons((uint16_t)probe_number(arg[1]));
	socklen_t len = sizeof(to.v6);
	int error;
	int fd;

	to.v6.sin6_port = port;
	if (inet_pton(AF_INET6, arg[0], &to.v6.sin6_addr) != 1) {
		to = (union address){ .v4 = { .sin_family = AF_INET, .sin_port = port } };
		len = sizeof(to.v4);
		if (inet_pton(AF_INET, arg[0], &to.v4.sin_addr) != 1) {
			errno = EINVAL;
			return -1;
		}
	}
	fd = socket(to.any.sa_family, type | SOCK_CLOEXEC, 0);
	if (fd < 0 || connect(fd, &to.any, len) == 0)
		return fd;
	error = errno;
	(void)close(fd);
	errno = error;
	return -1;
}

/* ADDRESS PORT */
static int try_connect_tcp(char **arg)
{
	int fd = connect_to(arg, SOCK_STREAM);

	if (fd < 0)
		return errno;
	(void)close(fd);
	return 0;
}

/* ADDRESS PORT: a datagram there, and one back. */
static int try_ask_udp(char **arg)
{
	const struct timeval patience = { .tv_sec = ANSWER_S };
	int fd = connect_to(arg, SOCK_DGRAM);
	char answer[16] = { 0 };
	int error = 0;

	if (fd < 0)
		return errno;
	if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) < 0 ||
	    send(fd, "?", 1, 0) < 0 || recv(fd, answer, sizeof(answer), 0) < 0)
		error = errno;
	/* By chance the port that was asked is the one that asks, and it hears itself. */
	if (error == 0 && answer[0] == '?')
		error = ECONNREFUSED;
	(void)close(fd);
	return error;
}

static int try_bind_tcp(char **arg)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int error = 0;

	(void)arg;
	if (fd < 0)
		return errno;
	if (bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		error = errno;
	(void)close(fd);
	return error;
}

const struct probe_entry probe_net_acts[] = {
	{ "connect-tcp", 2, try_connect_tcp },
	{ "ask-udp", 2, try_ask_udp },
	{ "bind-tcp", 0, try_bind_tcp },
	{ NULL, 0, NULL },
};
