/* SPDX-License-Identifier: MIT */
/* The phases of a connection: their numbers, the functions of each, and the table of all. */
#ifndef KODA_EGRESS_CONN_PHASES_H
#define KODA_EGRESS_CONN_PHASES_H

#include "wire/egress.h"

#include <stdbool.h>

struct egress_conn;

enum egress_phase {
	EGRESS_PHASE_TOKEN,          /* reads the tenant's token */
	EGRESS_PHASE_GREETING,       /* finds out which protocol the client speaks */
	EGRESS_PHASE_SOCKS,          /* SOCKS5; conn->in holds what was received */
	EGRESS_PHASE_CONNECT,        /* reaches conn->route's target, answers, opens a tunnel */
	EGRESS_PHASE_TUNNEL,         /* the origin is connected and the client was answered */
	EGRESS_PHASE_HTTP,           /* requests to the proxy, other than CONNECT */
	EGRESS_PHASE_HTTP_IN_TUNNEL, /* requests in a tunnel, all for conn->route's target */
	EGRESS_PHASE_TERMINATION,    /* TLS ends here; conn->in begins with the ClientHello */
	EGRESS_PHASE_COUNT
};

struct egress_conn_phase {
	/* Runs once, right after conn->phase was set. */
	void (*begin)(struct egress_conn *conn);
	/* The client's socket has events. */
	void (*client)(struct egress_conn *conn);
	/* The origin's socket has events. May be NULL in phases without an origin. */
	void (*origin)(struct egress_conn *conn);
	/* conn->deadline passed. */
	void (*late)(struct egress_conn *conn);
	/* The turn that egress_turn_wait waited for has come. NULL: the phase does not wait. A
	 * call may stem from a wait of the phase before. */
	void (*turn)(struct egress_conn *conn);
	/* The connection ends for a reason from outside (sandbox removed, rules changed). Reports
	 * it and frees conn->state. The sockets are closed afterwards. */
	void (*abandon)(struct egress_conn *conn, enum koda_egress_reason reason);
	/* Returns whether conn->route has a target that new rules must allow. NULL: never. */
	bool (*has_target)(const struct egress_conn *conn);
};

/* Each in the file of its phase. */
extern const struct egress_conn_phase egress_token_phase;
extern const struct egress_conn_phase egress_greeting_phase;
extern const struct egress_conn_phase egress_socks_phase;
extern const struct egress_conn_phase egress_connect_phase;
extern const struct egress_conn_phase egress_tunnel_phase;
extern const struct egress_conn_phase egress_http_phase;
extern const struct egress_conn_phase egress_http_in_tunnel_phase;
extern const struct egress_conn_phase egress_termination_phase;

/* All phases, for struct egress_proxy. */
extern const struct egress_conn_phase *const egress_phases[EGRESS_PHASE_COUNT];

#endif
