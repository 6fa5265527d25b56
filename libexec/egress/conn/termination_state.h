/* SPDX-License-Identifier: MIT */
/* A connection whose TLS the proxy terminates, for the files of that phase. */
#ifndef KODA_EGRESS_CONN_TERMINATION_STATE_H
#define KODA_EGRESS_CONN_TERMINATION_STATE_H

#include "conn/conn.h"
#include "tls/terminate.h"

struct egress_termination {
	struct egress_terminate *t; /* owned */
	enum egress_exchange_step step;
	uint64_t began;                 /* the current request; loop's clock */
	bool sparing;                   /* the tenant's budget is used up: reads little */
	bool running;                   /* guards against recursion from callbacks */
	size_t counted;                 /* bytes of the tenant's budget */
	bool reached;                   /* the attempt to reach the origin has ended */
	enum koda_egress_reason reason; /* its result */
	bool client_shut;
	bool origin_shut;
};

/* termination.c: enters the phase. conn->state is a struct egress_termination with its t. */
void egress_termination_enter(struct egress_conn *conn);

#endif
