/* SPDX-License-Identifier: MIT */
/*
 * A client's connection that speaks HTTP/1, and the origins' connections that serve its requests:
 * plain HTTP through the proxy, or HTTP inside a tunnel or terminated TLS. No I/O: the owner passes
 * in what it received, carries out the events, and calls again until it gets WAIT.
 *
 *	for (;;) {
 *		switch (egress_exchange_next(&x, port, &out)) {
 *		case EGRESS_EV_WAIT:        read, write or answer, then call again
 *		case EGRESS_EV_SEND:        queue out.bytes for out.side, before the next call
 *		case EGRESS_EV_WANT_ORIGIN: decide, connect, then egress_exchange_allowed/_refused
 *		...
 *
 * The owner is asked about each request, also on a kept connection. Pipelined requests wait in the
 * owner's buffer until the one before is answered.
 */
#ifndef KODA_EGRESS_PROTO_EXCHANGE_H
#define KODA_EGRESS_PROTO_EXCHANGE_H

#include "proto/http_body.h"

#define EGRESS_PATH_MAX    512 /* bytes of a path in events */
#define EGRESS_INTERIM_MAX 16  /* 1xx responses to one request */

enum egress_side {
	EGRESS_CLIENT = 0,
	EGRESS_ORIGIN = 1
};

/* Input and room of one side. The owner sets the fields; the exchange moves in past the bytes that
 * it consumed, and lowers room by what it sends. Unconsumed bytes must be there again in the next
 * call, followed by new ones, so the owner's buffer needs room for EGRESS_HEAD_MAX. */
struct egress_port {
	struct koda_span in; /* received and not consumed */
	bool eof;            /* the stream ends after in */
	size_t room;         /* bytes that may be queued for this side */
};

enum egress_event {
	EGRESS_EV_WAIT = 0,    /* for input, room, end of stream or an answer */
	EGRESS_EV_SEND,        /* send bytes to side; borrowed until the next call */
	EGRESS_EV_WANT_ORIGIN, /* decide whether request may go there, and on which connection */
	EGRESS_EV_CONNECT,     /* request is CONNECT (plain forwarding only). The head was consumed,
				  early data is in port[CLIENT].in. The exchange is over; the owner
				  answers */
	EGRESS_EV_LOG,         /* report record: a request was answered or refused */
	EGRESS_EV_DROP_ORIGIN, /* close the origin's socket, with RST if cut, and drop port[ORIGIN];
				  a later request asks for a new one */
	EGRESS_EV_RAW, /* once, after an upgrade: bytes flow both ways from now on, through SEND and
			  SHUT or without the exchange */
	EGRESS_EV_SHUT, /* after RAW: shut down the writing direction of side */
	EGRESS_EV_CLOSE /* send what is queued for the client, then close everything */
};

/* A request for an origin. Borrowed until the next one, or the end of the exchange. */
struct egress_request {
	const struct koda_host *host;
	uint16_t port;
	bool tls; /* the origin must be reached by TLS (terminated connection) */
	struct koda_span method;
	struct koda_span path; /* without query, truncated to EGRESS_PATH_MAX */
	bool retry; /* the kept connection ended before a response: a new one is needed, by the same
		       route */
};

/* A request for events, without query and credentials. Borrowed until the next call. */
struct egress_record {
	struct koda_span method; /* empty if the request could not be parsed */
	struct koda_span path;
	const struct koda_host *host; /* NULL if the request could not be parsed */
	uint16_t port;
	bool tls;
	int status;                           /* 0: the client got no response */
	const struct egress_refusal *refusal; /* NULL: the status is the origin's */
	uint64_t sent;                        /* payload bytes, client to origin */
	uint64_t received;                    /* payload bytes, origin to client */
};

struct egress_output {
	enum egress_side side;         /* SEND, SHUT */
	struct koda_span bytes;        /* SEND */
	bool cut;                      /* DROP_ORIGIN: part of a request was sent */
	struct egress_request request; /* WANT_ORIGIN, CONNECT */
	struct egress_record record;   /* LOG */
};

/* What the exchange is doing, for the owner's deadlines. */
enum egress_exchange_step {
	EGRESS_EXCHANGE_IDLE = 0, /* between requests */
	EGRESS_EXCHANGE_HEAD,     /* part of a request head was received */
	EGRESS_EXCHANGE_ORIGIN,   /* waits for the owner's answer */
	EGRESS_EXCHANGE_REQUEST,  /* sends the request, or waits for its response */
	EGRESS_EXCHANGE_RESPONSE, /* forwards the response */
	EGRESS_EXCHANGE_RAW,
	EGRESS_EXCHANGE_OVER
};

struct egress_exchange;

/* Creates an exchange. Plain forwarding: fixed is NULL. Terminated TLS: every request must be for
 * that host and port, others get 421; fixed is copied. Returns NULL without memory. */
struct egress_exchange *egress_exchange_new(const struct koda_host *fixed, uint16_t port);
/* Creates an exchange for requests without TLS in a tunnel to that host and port. */
struct egress_exchange *egress_exchange_new_plain(const struct koda_host *fixed, uint16_t port);
/* NULL is allowed. */
void egress_exchange_free(struct egress_exchange *x);

/* Returns the next event. The ports are port[EGRESS_CLIENT] and port[EGRESS_ORIGIN]. */
enum egress_event egress_exchange_next(struct egress_exchange *x, struct egress_port port[static 2],
				       struct egress_output *out);

/* Answers WANT_ORIGIN: the request may be sent. reused: the connection has served a request of this
 * exchange. *route is copied; its auth must stay valid until the next call returns. */
void egress_exchange_allowed(struct egress_exchange *x, bool reused,
			     const struct egress_route *route);
/* Answers WANT_ORIGIN: the client gets this refusal, and the connection ends. Valid at any other
 * time too, for a deadline (408, 504) or a broken origin (502); a response that has begun is cut
 * off then. The refusal is copied, its rule truncated to EGRESS_RULE_MAX. */
#define EGRESS_RULE_MAX 256
void egress_exchange_refused(struct egress_exchange *x, const struct egress_refusal *why);

/* Fills in the record of a request that no LOG has reported, when the exchange is abandoned.
 * Returns false if there is none. */
bool egress_exchange_unlogged(const struct egress_exchange *x, struct egress_record *ret_record);

/* Returns the bytes of its buffers. */
size_t egress_exchange_held(const struct egress_exchange *x);

enum egress_exchange_step egress_exchange_step(const struct egress_exchange *x,
					       const struct egress_port port[static 2]);

#endif
