/* SPDX-License-Identifier: MIT */
/*
 * A client's connection. It goes through phases: token, greeting, SOCKS, CONNECT, tunnel, HTTP,
 * terminated TLS, final answer. At any time one phase handles all events of the connection. A phase
 * names the next one by number (egress_conn_enter); proxy->phases, which main.c sets, maps numbers
 * to functions, so that no phase calls another.
 *
 * "up" is the direction from client to origin, "down" the direction from origin to client. A phase
 * that calls recv(2) itself uses up.readable and down.readable, which say that recv may return
 * something. It clears them on EAGAIN, because epoll is edge-triggered. Everything that is sent
 * goes through the flows: down to the client, up to the origin.
 */
#ifndef KODA_EGRESS_CONN_CONN_H
#define KODA_EGRESS_CONN_CONN_H

#include "conn/phases.h"
#include "io/flow.h"
#include "io/input.h"
#include "io/loop.h"
#include "proto/hello.h"
#include "proto/http_head.h"
#include "proto/sniff.h"
#include "proto/socks5.h"
#include "proxy.h"
#include "route/record.h"
#include "tenant.h"

struct egress_reach;

/* What a tunnel waits for after its first bytes have gone to the origin. */
enum egress_retry {
	EGRESS_RETRY_NONE = 0, /* nothing: no second ClientHello is expected */
	EGRESS_RETRY_ASKED,    /* the second ClientHello: the origin sent HelloRetryRequest */
	EGRESS_RETRY_WAIT,     /* the origin's answer to the first ClientHello */
	EGRESS_RETRY_IDENT     /* the origin's SSH identification line */
};

struct egress_conn {
	struct egress_link link; /* in tenant->conns */
	struct egress_link turn; /* in tenant->waiting */
	struct egress_proxy *proxy;
	struct egress_tenant *tenant;
	const struct egress_conn_phase *phase;
	struct egress_watch client;
	struct egress_watch origin;
	struct egress_task task; /* frees the connection */
	struct egress_deadline deadline;
	struct egress_flow up;
	struct egress_flow down;
	struct egress_input in;           /* received from the client, not parsed yet */
	struct egress_input early;        /* received behind an upstream proxy's answer */
	struct egress_route_record route; /* of the tunnel, or of the current request */
	struct egress_reach *reach;       /* owned: the attempt to reach the origin, or NULL */
	void (*cancel_reach)(struct egress_conn *conn); /* frees reach; set while there is one */
	uint32_t question;       /* to the host, whose answer reach waits for; 0: none */
	void *state;             /* owned by the phase, which frees it */
	uint64_t began;          /* loop's clock */
	bool socks;              /* the client speaks SOCKS, refusals too */
	bool server_first;       /* tunnel: the origin sent bytes before the client did */
	bool server_ssh;         /* tunnel: these were an SSH identification line */
	enum egress_retry retry; /* tunnel: what the gate waits for */
	bool gate_open;          /* tunnel: the client's bytes go to the origin unchecked */
	uint32_t passed;         /* tunnel: bytes of in that the origin has received already */
	struct egress_sniff_scan sniff;
	bool client_gone; /* the client's socket is closed in both directions */
	union {
		struct egress_head_scan head;
		struct egress_socks socks;
		struct egress_hello_scan hello;
	} scan;
};

/* Creates a connection for fd, which is non-blocking, and enters its first phase. Returns false if
 * memory or epoll fails; fd is closed then. */
bool egress_conn_new(struct egress_tenant *tenant, int fd);
/* Enters a phase. The calling phase must return to the loop right after. */
void egress_conn_enter(struct egress_conn *conn, enum egress_phase next);
/* Closes both sockets, and frees the connection after the current batch of events. The phase has
 * reported and freed conn->state before. */
void egress_conn_end(struct egress_conn *conn);
/* Reports the reason and ends the connection; after KODA_EGRESS_RESET by egress_conn_break. */
void egress_conn_finish(struct egress_conn *conn, enum koda_egress_reason reason);
/* Lets the phase report the reason, then breaks the connection. */
void egress_conn_abandon(struct egress_conn *conn, enum koda_egress_reason reason);
/* Ends the connection with RST (SO_LINGER 0) on both sockets, so that a truncated stream does not
 * look complete. */
void egress_conn_break(struct egress_conn *conn);

/* Records the EPOLL* bits of a socket in the flow that reads from it. */
void egress_conn_note_events(struct egress_flow *from, uint32_t events);
/* Closes the origin's socket, and drops what was queued in both directions. */
void egress_conn_drop_origin(struct egress_conn *conn);
/* Like egress_conn_drop_origin, with RST, so that a truncated request does not look complete. */
void egress_conn_break_origin(struct egress_conn *conn);

#endif
