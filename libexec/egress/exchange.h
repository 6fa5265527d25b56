/* SPDX-License-Identifier: MIT */
/*
 * One client connection that speaks HTTP/1, and the origin connections its requests go to: plain
 * HTTP through the proxy, or the inside of a terminated TLS connection. No I/O: the owner brings
 * what it received, does what the events say, and asks again until there is nothing to do.
 *
 *	for (;;) {
 *		switch (egress_exchange_next(&x, port, &out)) {
 *		case EGRESS_EV_WAIT:        read or write more, answer the question; come back
 *		case EGRESS_EV_SEND:        queue out.bytes for out.side, before the next call
 *		case EGRESS_EV_WANT_ORIGIN: decide, connect, then egress_exchange_allowed/_refused
 *		...
 *
 * Each request is asked for anew, also on a connection that is kept alive. Requests that come
 * pipelined wait in the owner's buffer until the one before is answered.
 */
#ifndef EGRESS_EXCHANGE_H
#define EGRESS_EXCHANGE_H

#include "http_body.h"

#define EGRESS_PATH_MAX    512 /* bytes of a path that reach the log */
#define EGRESS_INTERIM_MAX 16  /* 1xx answers to one request */

enum egress_side {
	EGRESS_CLIENT = 0,
	EGRESS_ORIGIN = 1
};

/* What the owner has for one side. It sets the fields, the exchange lowers them: in moves past the
 * bytes that were taken, room shrinks by what was sent. Bytes that were not taken have to be there
 * again, followed by what came since, so the owner's buffer needs space for EGRESS_HEAD_MAX. */
struct egress_port {
	struct koda_span in; /* received and not yet taken */
	bool eof;            /* nothing comes after in (for ORIGIN: the present connection) */
	size_t room;         /* bytes that may be queued for this side */
};

enum egress_event {
	EGRESS_EV_WAIT = 0,    /* nothing to do until input, room, eof or an answer comes */
	EGRESS_EV_SEND,        /* bytes for side; borrowed until the next call */
	EGRESS_EV_WANT_ORIGIN, /* request: may it go there, and on which connection? */
	EGRESS_EV_CONNECT,     /* request is CONNECT (plain forwarding only). The head was taken,
				* early data is in port[CLIENT].in; the exchange is over and the
				* owner answers */
	EGRESS_EV_LOG,         /* record: a request was answered, one way or the other */
	EGRESS_EV_DROP_ORIGIN, /* close the origin connection, forget port[ORIGIN]; a later request
				* asks for a new one */
	EGRESS_EV_RAW,         /* told once: upgraded. Bytes flow both ways from now, through SEND
				* and SHUT or, if it is faster, without the exchange */
	EGRESS_EV_SHUT,        /* raw: side gets no more bytes, shut down its writing half */
	EGRESS_EV_CLOSE        /* over: flush what was queued for the client, close everything */
};

/* A request that wants to go somewhere. Borrowed until the next one, or the end of the exchange. */
struct egress_request {
	const struct koda_host *host;
	uint16_t port;
	bool tls; /* the origin has to be reached by TLS (terminated connection) */
	struct koda_span method;
	struct koda_span path; /* without query, cut at EGRESS_PATH_MAX */
	bool retry;            /* the kept connection died before it answered: only a fresh
				* connection will do, by the same route */
};

/* For events; no query, no credentials. Borrowed until the next call. */
struct egress_record {
	struct koda_span method; /* empty if the request could not be read */
	struct koda_span path;
	const struct koda_host *host; /* NULL if the request could not be read */
	uint16_t port;
	bool tls;
	int status;                           /* 0: the client got no answer */
	const struct egress_refusal *refusal; /* NULL: the status is the origin's */
	uint64_t sent;                        /* body bytes, client to origin */
	uint64_t received;                    /* body bytes, origin to client */
};

struct egress_output {
	enum egress_side side;         /* SEND, SHUT */
	struct koda_span bytes;        /* SEND */
	struct egress_request request; /* WANT_ORIGIN, CONNECT */
	struct egress_record record;   /* LOG */
};

/* For the owner's deadlines. */
enum egress_phase {
	EGRESS_PHASE_IDLE = 0, /* between requests */
	EGRESS_PHASE_HEAD,     /* part of a request head is there */
	EGRESS_PHASE_ORIGIN,   /* the owner has been asked and has not answered */
	EGRESS_PHASE_REQUEST,  /* request is being sent, or its response has not begun */
	EGRESS_PHASE_RESPONSE, /* the response is on its way */
	EGRESS_PHASE_RAW,
	EGRESS_PHASE_OVER
};

struct egress_exchange;

/* Plain forwarding: fixed is NULL. Terminated TLS: every request has to be for that host and port,
 * anything else gets 421; fixed is copied. NULL when out of memory. */
struct egress_exchange *egress_exchange_new(const struct koda_host *fixed, uint16_t port);
/* The same for requests without TLS in a tunnel to that host and port. */
struct egress_exchange *egress_exchange_new_plain(const struct koda_host *fixed, uint16_t port);
/* NULL is fine. */
void egress_exchange_free(struct egress_exchange *x);

/* The next thing to do; port[EGRESS_CLIENT], port[EGRESS_ORIGIN]. */
enum egress_event egress_exchange_next(struct egress_exchange *x, struct egress_port port[static 2],
				       struct egress_output *out);

/* The answer to WANT_ORIGIN: go ahead. reused: the connection has served a request of this
 * exchange before. *route is copied; its auth has to live until the next call returns. */
void egress_exchange_allowed(struct egress_exchange *x, bool reused,
			     const struct egress_route *route);
/* Or not: the client gets this answer, and the connection ends after it. Also valid at any
 * other time, for a deadline that passed (408, 504) or an origin that broke (502): when a response
 * has begun already, the client's connection is just ended. The refusal is copied, its
 * rule cut at EGRESS_RULE_MAX. */
#define EGRESS_RULE_MAX 256
void egress_exchange_refused(struct egress_exchange *x, const struct egress_refusal *why);

/* For an exchange that is given up: the request of which no LOG told yet; false: there is none. */
bool egress_exchange_unlogged(const struct egress_exchange *x, struct egress_record *ret_record);

/* Bytes of memory that heads and answers on their way take up. */
size_t egress_exchange_held(const struct egress_exchange *x);

enum egress_phase egress_exchange_phase(const struct egress_exchange *x,
					const struct egress_port port[static 2]);

#endif
