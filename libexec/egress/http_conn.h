/* SPDX-License-Identifier: MIT */
/* A connection that speaks HTTP, for the two files that own parts of it: http.c moves the bytes,
 * http_route.c knows where they go. */
#ifndef KODA_EGRESS_HTTP_CONN_H
#define KODA_EGRESS_HTTP_CONN_H

#include "conn.h"

struct koda_http {
	struct egress_exchange *x; /* owned */
	struct koda_input from_origin;
	bool client_eof;
	bool origin_eof;
	bool origin_broken; /* and that is no end of a body */
	bool cut;           /* nor is ours: the client is to see it */
	bool stepping;      /* answers come while the exchange is being asked */
	bool in_tunnel;     /* every request is for the tunnel's host */
	bool used;          /* the origin connection has served a request, or waits for its first */
	enum egress_phase phase;
	uint64_t began; /* the present request */
	size_t counted; /* of the tenant's budget, for what the exchange holds */
};

void koda_http_free(struct koda_conn *conn);
/* Goes on after an answer. */
void koda_http_step(struct koda_conn *conn);

/* May this request go there, and on which connection? The exchange gets the answer. */
void koda_http_reach(struct koda_conn *conn, const struct egress_request *request);
void koda_http_drop_origin(struct koda_conn *conn);
/* The phase is over: both sides are a tunnel from now on, or one is asked for. */
void koda_http_become_tunnel(struct koda_conn *conn);
void koda_http_become_connect(struct koda_conn *conn, const struct egress_request *request);

#endif
