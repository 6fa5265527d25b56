/* SPDX-License-Identifier: MIT */
/*
 * T-37, T-17. Connections that init makes for the command, on a duplicate of its socket:
 *
 *   127.0.0.1, port of the proxy   to the proxy: broker_proxy.c
 *   a socket in the file system    if it is in the command's temporary directory, where only the
 *                                  command can have made it (T-34)
 *   an abstract socket             if it was made in the sandbox: init's Landlock domain refuses
 *                                  others
 *   anything else                  refused, as without a network
 *
 * The duplicate is non-blocking while it is connected, and a timer interrupts calls that block
 * nevertheless, so that the command cannot block init (T-38).
 */
#include "landlock/broker_connect.h"

#include "fail.h"
#include "landlock/broker_proxy.h"
#include "landlock/grants.h"
#include "landlock/scope.h"
#include "pathcall/caller.h"
#include "sys.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#define PINNED_MAX 256
/* From this Landlock version on no socket can be moved into the temporary directory
 * (plan/landlock_rights.h). */
#define ABI_SCRATCH_IS_OWN 5

static struct {
	struct koda_op *sockets; /* owned: the host's sockets */
	size_t count;
	bool scratch_is_own; /* sockets in the temporary directory were made there */
	bool scoped;         /* Landlock keeps init from abstract sockets of other domains */
} state;

static bool is_of_host(const struct stat *st)
{
	for (size_t i = 0; i < state.count; i++)
		if (state.sockets[i].n1 == st->st_dev && state.sockets[i].n2 == st->st_ino)
			return true;
	return false;
}

static long connect_path(const struct brokered_call *call, int fd, const char *path)
{
	struct sockaddr_un socket_address = { .sun_family = AF_UNIX };
	int place = stage2_brokered_call_open(call, AT_FDCWD, path, true);
	struct stat st;
	long r;

	if (place < 0)
		return place;
	if (fstat(place, &st) < 0 || !S_ISSOCK(st.st_mode))
		r = -ECONNREFUSED;
	else if (!state.scratch_is_own || is_of_host(&st) ||
		 !stage2_grants_allow(place, SYS_LANDLOCK_MAKE_SOCK))
		r = -EACCES;
	else {
		(void)snprintf(socket_address.sun_path, sizeof(socket_address.sun_path),
			       "/proc/self/fd/%d", place);
		r = stage2_brokered_call_holds(call)
			    ? stage2_brokered_call_connect(fd, &socket_address,
							   sizeof(socket_address))
			    : -EACCES;
	}
	stage2_brokered_call_close(place);
	return r;
}

static long connect_unix(const struct brokered_call *call, int fd,
			 const struct sockaddr_storage *address, socklen_t len)
{
	const size_t before = offsetof(struct sockaddr_un, sun_path);
	char path[sizeof(struct sockaddr_un) - offsetof(struct sockaddr_un, sun_path) + 1] = { 0 };

	if (address->ss_family != AF_UNIX || len <= before || len > sizeof(struct sockaddr_un))
		return -EINVAL;
	memcpy(path, (const char *)address + before, len - before);
	if (path[0])
		return connect_path(call, fd, path);
	return state.scoped ? stage2_brokered_call_connect(fd, address, len) : -EACCES;
}

/* Returns the address family of a socket, or a negative errno. */
static int family_of(int fd)
{
	int family = -1;
	socklen_t len = sizeof(family);

	return getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &family, &len) < 0 ? -errno : family;
}

long stage2_broker_connect(const struct brokered_call *call)
{
	struct sockaddr_storage address;
	int len = (int)call->args[2];
	int family;
	long r;
	int fd;

	if (len < (int)sizeof(sa_family_t) || (size_t)len > sizeof(address))
		return -EINVAL;
	memset(&address, 0, sizeof(address));
	r = stage2_caller_copy(call->thread, call->args[1], &address, (size_t)len);
	if (r < 0)
		return r;
	fd = stage2_brokered_call_fd(call, (int)call->args[0]);
	if (fd < 0)
		return fd;
	family = family_of(fd);
	if (family == AF_INET || family == AF_INET6)
		return stage2_broker_proxy_connect(call, fd, &address, (socklen_t)len);
	r = family < 0          ? family
	    : family == AF_UNIX ? connect_unix(call, fd, &address, (socklen_t)len)
				: -EACCES;
	stage2_brokered_call_close(fd);
	return r;
}

/* Without a network namespace a TCP listener would be reachable for the whole host. */
long stage2_broker_connect_listen(const struct brokered_call *call)
{
	int fd = stage2_brokered_call_fd(call, (int)call->args[0]);
	int family;
	long r;

	if (fd < 0)
		return fd;
	family = family_of(fd);
	r = family < 0                           ? family
	    : family != AF_UNIX                  ? -EACCES
	    : listen(fd, (int)call->args[1]) < 0 ? -errno
						 : 0;
	stage2_brokered_call_close(fd);
	return r;
}

void stage2_broker_connect_start(const struct plan *plan)
{
	long abi = stage2_landlock_abi();
	struct koda_op op;
	size_t at = 0;

	if (abi < 1)
		stage2_fail(KODA_LAUNCH_BROKER_CONNECT_START, "", errno);
	state.scratch_is_own = abi >= ABI_SCRATCH_IS_OWN;
	state.scoped = abi >= SYS_LANDLOCK_ABI_SCOPES;
	while (koda_ops_next(plan->bytes, &at, &op)) {
		struct koda_op *sockets;

		if (op.kind != KODA_OP_SOCKET)
			continue;
		sockets = realloc(state.sockets, (state.count + 1) * sizeof(*sockets));
		if (!sockets)
			stage2_fail(KODA_LAUNCH_MEMORY, "", ENOMEM);
		state.sockets = sockets;
		state.sockets[state.count++] = op;
		/* Stays open, so that the inode number is not reused. The number is limited,
		 * because init needs descriptors itself. */
		if (state.count <= PINNED_MAX)
			(void)sys_openat2(AT_FDCWD, op.text1.ptr, O_PATH | O_NOFOLLOW,
					  RESOLVE_NO_SYMLINKS);
	}
}
