/* SPDX-License-Identifier: MIT */
/* Serves the one client, request by request. */
#ifndef FSCOMPAT_SERVE_H
#define FSCOMPAT_SERVE_H

#include "conn.h"
#include "operate.h"

/* Serves until the client closes the connection or asks for the end, or a signal comes. What is no
 * request is answered with an error, and ends the connection. Fails: POLICY, INVALID or LIMIT for
 * that, SYS, NOMEM. */
KODA_CHECK int fscompat_serve(struct fscompat_conn *conn, struct fscompat_worker *worker,
			      struct koda_error *err);

#endif
