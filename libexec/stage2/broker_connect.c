/* SPDX-License-Identifier: MIT */
/*
 * T-37, T-17. Connections that init makes for the command, on a duplicate of its socket:
 *
 *   127.0.0.1, port of the way out   to the proxy: broker_way.c
 *   a socket in the file system      if it is in the command's temporary directory, where only
 *                                    the command can have made it (T-34)
 *   an abstract socket               if it was made in the sandbox: init's own domain sees to that
 *   anything else                    as if there were no network
 *
 * The duplicate is non-blocking while it is connected, and a timer ends what waits nevertheless, so
 * that init waits for nobody (T-38).
 */
#include "broker.h"

#include "sys.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#define PINNED_MAX 256
/* Landlock from which on no socket can be moved into the temporary directory (plan/rights.h). */
#define ABI_SETTLED 5

static struct {
	struct koda_op *sockets; /* owned: of the host */
	size_t count;
	bool settled; /* what is in the temporary directory was made there */
	bool scoped;  /* abstract sockets of others are out of init's own reach */
} state;

/* Its flags are the command's, too, which may set them back at any time. */
int koda_connect_now(int fd, const void *address, socklen_t len)
{
	int flags = fcntl(fd, F_GETFL);
	bool waits = flags >= 0 && !(flags & O_NONBLOCK);
	int r;

	if (flags < 0 || (waits && fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0))
		return -errno;
	koda_broker_wake(true);
	r = connect(fd, address, len) < 0 ? -errno : 0;
	koda_broker_wake(false);
	if (waits)
		(void)fcntl(fd, F_SETFL, flags);
	return r == -EINTR ? -EAGAIN : r;
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
		r = koda_asked_holds(asked) ? koda_connect_now(fd, &held, sizeof(held)) : -EACCES;
	}
	koda_asked_close(place);
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
	return state.scoped ? koda_connect_now(fd, address, len) : -EACCES;
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
		return koda_way_connect(asked, fd, &address, (socklen_t)len);
	r = family < 0          ? family
	    : family == AF_UNIX ? connect_unix(asked, fd, &address, (socklen_t)len)
				: -EACCES;
	koda_asked_close(fd);
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
	koda_asked_close(fd);
	return r;
}

void koda_connect_start(const struct plan *plan)
{
	long abi = koda_lock_abi();
	struct koda_op op;
	size_t at = 0;

	if (abi < 1)
		koda_stage2_fail("supervise connections", "", errno);
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
