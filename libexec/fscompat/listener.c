/* SPDX-License-Identifier: MIT */
/* T-108. */
#include "listener.h"

#include "base/error.h"
#include "base/fd.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define SOCKET_MODE 0600
/* A client that has started the program connects at once; one that was killed never does. */
#define CONNECT_MS 60000

/* Returns whether the path is a socket of this user that no process listens at. The probe is of
 * another type, so a process that listens does not take it for its client: EPROTOTYPE. */
static bool is_stale(const struct sockaddr_un *address)
{
	koda_auto_fd int probe = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct stat st;

	return lstat(address->sun_path, &st) == 0 && S_ISSOCK(st.st_mode) &&
	       st.st_uid == geteuid() && probe >= 0 &&
	       connect(probe, (const struct sockaddr *)address, sizeof(*address)) < 0 &&
	       errno == ECONNREFUSED;
}

/* Binds the socket, in the place of a stale one. */
static int bind_to(int fd, const struct sockaddr_un *address)
{
	int r = bind(fd, (const struct sockaddr *)address, sizeof(*address));

	if (r < 0 && errno == EADDRINUSE && is_stale(address)) {
		(void)unlink(address->sun_path);
		return bind(fd, (const struct sockaddr *)address, sizeof(*address));
	}
	return r;
}

int fscompat_listener_open(struct fscompat_listener *listener, const char *path,
			   struct koda_error *err)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	struct stat st;

	if (strlen(path) >= sizeof(address.sun_path))
		return koda_fail_at(err, KODA_E_INVALID, 0, path, "is over %zu bytes",
				    sizeof(address.sun_path) - 1);
	memcpy(address.sun_path, path, strlen(path) + 1);
	listener->socket = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	/* The mode that the socket has when it is bound is the mode of its file. */
	if (listener->socket < 0 || fchmod(listener->socket, SOCKET_MODE) < 0 ||
	    bind_to(listener->socket, &address) < 0)
		return koda_fail_at(err, KODA_E_SYS, errno, path, "cannot be made a socket");
	listener->path = path;
	if (lstat(path, &st) < 0 || listen(listener->socket, 1) < 0)
		return koda_fail_at(err, KODA_E_SYS, errno, path, "cannot be listened at");
	listener->dev = st.st_dev;
	listener->ino = st.st_ino;
	return KODA_OK;
}

static bool is_own_user(int socket)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);

	return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0 &&
	       peer.uid == geteuid();
}

int fscompat_listener_accept(struct fscompat_listener *listener, struct fscompat_stop *stop,
			     int *ret_socket, struct koda_error *err)
{
	for (;;) {
		koda_auto_fd int fd = -1;
		struct sockaddr_un from;
		socklen_t len = sizeof(from);
		int r = fscompat_stop_wait(stop, listener->socket, POLLIN, CONNECT_MS, err);

		if (r == KODA_E_TIMEOUT)
			return koda_fail(err, r, 0, "no client has connected");
		if (r != KODA_OK)
			return r < 0 ? r : 0;
		fd = accept4(listener->socket, (struct sockaddr *)&from, &len,
			     SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (fd < 0 && errno != EAGAIN && errno != ECONNABORTED && errno != EINTR)
			return koda_fail(err, KODA_E_SYS, errno, "no client can be accepted");
		if (fd >= 0 && is_own_user(fd)) {
			koda_fd_close(&listener->socket);
			*ret_socket = koda_take_fd(&fd);
			return 1;
		}
	}
}

void fscompat_listener_close(struct fscompat_listener *listener)
{
	struct stat st;

	koda_fd_close(&listener->socket);
	if (listener->path && lstat(listener->path, &st) == 0 && st.st_dev == listener->dev &&
	    st.st_ino == listener->ino)
		(void)unlink(listener->path);
}
