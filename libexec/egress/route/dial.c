/* SPDX-License-Identifier: MIT */
#include "route/dial.h"

#include "base/fd.h"
#include "policy/addr.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

void egress_dial_add(struct egress_dial *dial, const struct koda_addr *addr)
{
	if (dial->count == EGRESS_DIAL_MAX)
		return;
	dial->addrs[dial->count++] = *addr;
	/* If one address family does not work here, only one attempt is lost. */
	if (dial->count > 2 && dial->addrs[1].family == dial->addrs[0].family &&
	    addr->family != dial->addrs[0].family) {
		dial->addrs[dial->count - 1] = dial->addrs[1];
		dial->addrs[1] = *addr;
	}
}

static socklen_t fill(union address *out, const struct koda_addr *addr, uint16_t port)
{
	memset(out, 0, sizeof(*out));
	if (addr->family == 4) {
		out->v4.sin_family = AF_INET;
		out->v4.sin_port = htons(port);
		memcpy(&out->v4.sin_addr, addr->bytes, 4);
		return sizeof(out->v4);
	}
	out->v6.sin6_family = AF_INET6;
	out->v6.sin6_port = htons(port);
	memcpy(&out->v6.sin6_addr, addr->bytes, 16);
	return sizeof(out->v6);
}

int egress_dial_next(struct egress_dial *dial, int *ret_errno)
{
	const int on = 1;
	const struct koda_addr *addr;
	union address to;
	socklen_t len;
	koda_auto_fd int fd = -1;

	*ret_errno = 0;
	if (dial->next >= dial->count)
		return -1;
	addr = &dial->addrs[dial->next++];
	len = fill(&to, addr, dial->port);
	fd = socket(to.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP);
	if (fd < 0 || setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) < 0 ||
	    (connect(fd, &to.any, len) < 0 && errno != EINPROGRESS)) {
		*ret_errno = errno;
		return -1;
	}
	egress_dial_keep_alive(fd);
	return koda_take_fd(&fd);
}

void egress_dial_keep_alive(int fd)
{
	static const struct {
		int level;
		int option;
		int value;
	} options[] = {
		{ SOL_SOCKET, SO_KEEPALIVE, 1 },
		{ IPPROTO_TCP, TCP_KEEPIDLE, 60 },
		{ IPPROTO_TCP, TCP_KEEPINTVL, 15 },
		{ IPPROTO_TCP, TCP_KEEPCNT, 4 },
	};

	for (size_t i = 0; i < KODA_ARRAY_LEN(options); i++)
		(void)setsockopt(fd, options[i].level, options[i].option, &options[i].value,
				 sizeof(options[i].value));
}

int egress_dial_check(int fd, const struct koda_addr *addr, uint16_t port)
{
	union address want;
	union address is;
	socklen_t len = sizeof(is);
	int error = 0;

	memset(&is, 0, sizeof(is));
	if (getpeername(fd, &is.any, &len) == 0) {
		socklen_t want_len = fill(&want, addr, port);
		bool same = len == want_len &&
			    (addr->family == 4
				     ? is.v4.sin_port == want.v4.sin_port &&
					       memcmp(&is.v4.sin_addr, addr->bytes, 4) == 0
				     : is.v6.sin6_port == want.v6.sin6_port &&
					       memcmp(&is.v6.sin6_addr, addr->bytes, 16) == 0);

		return same ? 1 : -EADDRNOTAVAIL;
	}
	len = sizeof(error);
	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0)
		return -errno;
	return -error;
}

int egress_dial_socket(const char *path, int *ret_errno)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	koda_auto_fd int fd = -1;

	*ret_errno = ENAMETOOLONG;
	if (strlen(path) >= sizeof(at.sun_path))
		return -1;
	memcpy(at.sun_path, path, strlen(path));
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 || connect(fd, (const struct sockaddr *)&at, sizeof(at)) < 0) {
		*ret_errno = errno;
		return -1;
	}
	*ret_errno = 0;
	return koda_take_fd(&fd);
}
