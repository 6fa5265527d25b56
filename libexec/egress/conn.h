/* SPDX-License-Identifier: MIT */
/*
 * A client's connection. It goes through phases - greeting, SOCKS, HTTP, tunnel, terminated TLS,
 * last answer - and at each time one phase gets all its events. Going to the next phase is
 * assigning conn->phase.
 *
 * up is the direction from client to origin, down the other. A phase that reads by itself uses
 * up.readable and down.readable, which say that recv is worth trying; it clears them when that
 * gives EAGAIN, for the loop tells only of changes. What is sent goes through the flows too:
 * down to the client, up to the origin.
 */
#ifndef KODA_EGRESS_CONN_H
#define KODA_EGRESS_CONN_H

#include "decide.h"
#include "exchange.h"
#include "flow.h"
#include "guess.h"
#include "hello.h"
#include "input.h"
#include "loop.h"
#include "socks5.h"
#include "tenant.h"

struct koda_conn;
struct koda_reach;

struct koda_phase {
	/* The client's socket, or the origin's, has news. origin may be NULL while there is none.
	 */
	void (*client)(struct koda_conn *conn);
	void (*origin)(struct koda_conn *conn);
	/* conn->deadline passed. */
	void (*late)(struct koda_conn *conn);
	/* conn->task runs; NULL if the phase posts none. */
	void (*go_on)(struct koda_conn *conn);
	/* The connection ends for a reason from outside (removed, rules changed): report, and
	 * free conn->state. The sockets are closed afterwards. */
	void (*abandon)(struct koda_conn *conn, enum koda_egress_reason reason);
	/* The target, for checking it against new rules; false: none now. NULL: never any. */
	bool (*has_target)(const struct koda_conn *conn);
};

/* Where a connection goes, and by which right. */
struct koda_deal {
	struct koda_target target;
	struct koda_target *named;      /* owned: by which name TLS goes to an address, or NULL */
	struct koda_ruleset *ruleset;   /* a reference; the decision's rule lives in it */
	struct koda_decision decision;  /* the present one */
	struct koda_addr addr;          /* connected to, or last tried; family 0: none */
	const struct egress_proxy *via; /* upstream proxy, or NULL */
	bool asked;                     /* a person allowed it */
	int sys_errno;                  /* of the last connect that failed */
};

/* What a tunnel's origin has made of the ClientHello it got. */
enum koda_retry {
	KODA_RETRY_NONE = 0, /* it goes on; there was or will be no other */
	KODA_RETRY_WAIT,     /* no answer yet */
	KODA_RETRY_ASKED     /* it wants another */
};

struct koda_conn {
	struct koda_link link; /* among its tenant's */
	struct koda_proxy *proxy;
	struct koda_tenant *tenant;
	const struct koda_phase *phase;
	struct koda_watch client;
	struct koda_watch origin;
	struct koda_task task;
	struct koda_deadline deadline;
	struct koda_flow up;
	struct koda_flow down;
	struct koda_input in;     /* from the client, not yet understood */
	struct koda_input early;  /* from the origin, behind an upstream proxy's answer */
	struct koda_deal deal;    /* of the tunnel, or of the present request */
	struct koda_reach *reach; /* owned: on the way to the origin */
	void *state;              /* of the phase; it frees it */
	uint64_t began;           /* loop's clock */
	bool socks;               /* asked by SOCKS, so answered by it */
	bool server_first;        /* tunnel: the origin did not wait for the client to speak */
	enum koda_retry retry;    /* tunnel: the first ClientHello has passed, and then */
	bool gate_open;           /* tunnel: the client's bytes may go to the origin */
	uint32_t passed;          /* tunnel: of in, what the origin has got already */
	struct egress_guess_scan guess;
	bool client_gone; /* both directions of the client are dead */
	union {
		struct egress_head_scan head;
		struct egress_socks socks;
		struct egress_hello_scan hello;
	} scan;
};

/* Takes fd, which is non-blocking. False: refused, and closed. */
bool koda_conn_new(struct koda_tenant *tenant, int fd);
/* The connection is over: everything is closed and freed once the batch of events is done. Called
 * by phases after they reported, and with nothing of conn->state left. */
void koda_conn_end(struct koda_conn *conn);
/* From outside; the phase reports. */
void koda_conn_abandon(struct koda_conn *conn, enum koda_egress_reason reason);
/* Breaks off: the other side gets a reset instead of an end that looks like success. */
void koda_conn_break(struct koda_conn *conn);

/* conn->task calls phase->go_on soon. */
void koda_conn_go_on(struct koda_conn *conn);
/* The origin's socket (connected, watched by the connection from now on). Fails: SYS. */
KODA_CHECK int koda_conn_set_origin(struct koda_conn *conn, int fd);
/* Closes it, and forgets what was on its way in both directions. */
void koda_conn_drop_origin(struct koda_conn *conn);
/* The same with a reset: what it has got so far is not to be taken for all. */
void koda_conn_break_origin(struct koda_conn *conn);

/* Sets the target of conn->deal and forgets the rest of it. Fails: POLICY. */
KODA_CHECK int koda_deal_set(struct koda_conn *conn, const struct koda_host *host, uint16_t port);
void koda_deal_clear(struct koda_conn *conn);

/* An event about conn->deal, with the bytes of the flows and the time since it began. */
void koda_conn_report(struct koda_conn *conn, enum koda_egress_reason reason);
/* The same with the fields that the caller has filled in; deal, id and verdict are added. */
void koda_conn_report_as(struct koda_conn *conn, enum koda_egress_reason reason,
			 struct koda_egress_message *event);
/* About a request that began at that time of the loop's clock. */
void koda_conn_report_request(struct koda_conn *conn, const struct egress_record *record,
			      uint64_t began);
/* The same inside terminated TLS, where the connection has an event of its own. */
void koda_conn_report_terminated(struct koda_conn *conn, const struct egress_record *record,
				 uint64_t began);

/* Would the connection's target still be allowed under these rules? If so it goes on under them. */
bool koda_conn_fits(struct koda_conn *conn, struct koda_ruleset *ruleset);

/* May a connection to an address name this host? Only if the rules would have let it through by
 * that name. */
bool koda_conn_name_fits(struct koda_conn *conn, const struct koda_rules *rules,
			 const struct koda_target *named);

/* The phases, each in a file of its own. Each of these is the last thing a phase does. */
void koda_greeting_begin(struct koda_conn *conn);
/* The same after the tenant's token (token.c). */
void koda_token_begin(struct koda_conn *conn);
/* conn->in holds what was received. */
void koda_socks_begin(struct koda_conn *conn);
/* HTTP that is no CONNECT. */
void koda_http_begin(struct koda_conn *conn);
/* The same inside a tunnel, whose origin is connected: requests are for conn->deal's target. */
void koda_http_begin_in_tunnel(struct koda_conn *conn);
/* conn->deal is set: decide, connect, answer, then the tunnel. */
void koda_connect_begin(struct koda_conn *conn);
/* The origin is connected, the client was told. With gate_open the client's bytes are not looked
 * at (an upgraded HTTP connection). */
void koda_tunnel_begin(struct koda_conn *conn);
/* sni.c: is the name, or that there is none, what the tunnel is for? */
bool koda_sni_fits(struct koda_conn *conn, const struct egress_hello *hello);
/* retry.c: looks at what the origin answered. */
enum koda_retry koda_retry_look(struct koda_conn *conn);
/* sni.c: is TLS to the target ended here? */
bool koda_terminated_wanted(const struct koda_conn *conn);
/* The origin is connected; conn->in begins with the client's hello, which was read. */
void koda_terminated_begin(struct koda_conn *conn, const struct egress_hello *hello);
/* Sends bytes as the last thing, and closes when the client has read them. */
void koda_last_begin(struct koda_conn *conn, struct koda_span bytes);

/* A refusal in words: status, code and text for this reason. */
struct egress_refusal koda_refusal(enum koda_egress_reason reason, struct koda_span rule);
/* Reports, answers (HTTP or SOCKS), and closes. */
void koda_conn_refuse(struct koda_conn *conn, enum koda_egress_reason reason);

#endif
