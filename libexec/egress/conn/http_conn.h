/* SPDX-License-Identifier: MIT */
/* A connection that speaks HTTP, for the files of that phase: http.c moves bytes, http_route.c
 * decides where a request goes, http_leave.c ends the phase. */
#ifndef KODA_EGRESS_CONN_HTTP_CONN_H
#define KODA_EGRESS_CONN_HTTP_CONN_H

#include "conn/conn.h"
#include "proto/exchange.h"

struct egress_http {
	struct egress_exchange *x; /* owned */
	struct egress_input from_origin;
	bool client_eof;
	bool origin_eof;
	bool origin_broken; /* by an error, which does not end a body */
	bool cut;           /* the client gets RST: its response is not complete */
	bool stepping;      /* guards against recursion from callbacks */
	bool in_tunnel;     /* every request is for the tunnel's host */
	bool used;          /* the origin's socket served a request, or is the tunnel's */
	enum egress_exchange_step step;
	uint64_t began; /* the current request; loop's clock */
	size_t counted; /* bytes of the tenant's budget that the exchange holds */
};

/* Decides where the request goes: the exchange gets the answer at once, or done is called when the
 * origin was reached or not, and calls egress_http_route_reached. */
void egress_http_route_start(struct egress_conn *conn, const struct egress_request *request,
			     void (*done)(struct egress_conn *conn,
					  enum koda_egress_reason reason));
/* Gives the exchange the result of reaching the origin. */
void egress_http_route_reached(struct egress_conn *conn, enum koda_egress_reason reason);
/* Closes the origin's socket, and drops what was received from it. */
void egress_http_route_drop(struct egress_conn *conn);

/* Frees conn->state. */
void egress_http_leave(struct egress_conn *conn);
/* Enters the tunnel phase after an upgrade, with what was received so far. */
void egress_http_leave_for_tunnel(struct egress_conn *conn);
/* Enters the CONNECT phase for a request on a kept connection. */
void egress_http_leave_for_connect(struct egress_conn *conn, const struct egress_request *request);

#endif
