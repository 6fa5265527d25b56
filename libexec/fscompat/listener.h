/* SPDX-License-Identifier: MIT */
/*
 * The socket that the client names. Its mode is 0600, and only a process of the same user gets
 * through: a client of another user would have the files of this one.
 */
#ifndef FSCOMPAT_LISTENER_H
#define FSCOMPAT_LISTENER_H

#include "stop.h"

#include <sys/types.h>

struct fscompat_listener {
	int socket;       /* owned */
	const char *path; /* borrowed; NULL: no file was made */
	dev_t dev;
	ino_t ino;
};

#define FSCOMPAT_LISTENER_INIT                                                                     \
	{                                                                                          \
		.socket = -1                                                                       \
	}

/* Makes the socket and listens. A socket of this user that no process listens at is replaced.
 * Fails: INVALID for a path that is too long, SYS. */
KODA_CHECK int fscompat_listener_open(struct fscompat_listener *listener, const char *path,
				      struct koda_error *err);
/* Waits a minute for the one connection, and closes the socket to all others. Returns 1 and the
 * connection, owned by the caller and non-blocking; 0 if a signal came. Fails: TIMEOUT, SYS. */
KODA_CHECK int fscompat_listener_accept(struct fscompat_listener *listener,
					struct fscompat_stop *stop, int *ret_socket,
					struct koda_error *err);
/* Removes the file of the socket, unless another is in its place. */
void fscompat_listener_close(struct fscompat_listener *listener);

#endif
