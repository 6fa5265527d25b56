/* SPDX-License-Identifier: MIT */
/* The connection to the client: whole frames in and out. */
#ifndef FSCOMPAT_CONN_H
#define FSCOMPAT_CONN_H

#include "base/buf.h"
#include "stop.h"

struct fscompat_conn {
	int socket; /* owned; non-blocking */
	struct fscompat_stop *stop;
	struct koda_buf in; /* the frame that is being read */
};

void fscompat_conn_clear(struct fscompat_conn *conn);

/* Waits for a frame; *ret_payload is its JSON, borrowed until the next call. Returns 1; 0 if the
 * client has closed the connection behind a frame, or a signal came. Fails: INVALID if the client
 * has closed it within one, LIMIT, SYS, NOMEM. */
KODA_CHECK int fscompat_conn_read(struct fscompat_conn *conn, struct koda_span *ret_payload,
				  struct koda_error *err);
/* Sends a whole frame. Returns 1; 0 if a signal came. Fails: SYS. */
KODA_CHECK int fscompat_conn_write(struct fscompat_conn *conn, struct koda_span frame,
				   struct koda_error *err);

#endif
