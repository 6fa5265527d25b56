/* SPDX-License-Identifier: MIT */
/* Internals of an exchange, for exchange*.c. */
#ifndef KODA_EGRESS_PROTO_EXCHANGE_STATE_H
#define KODA_EGRESS_PROTO_EXCHANGE_STATE_H

#include "proto/exchange.h"

enum egress_state {
	EGRESS_STATE_HEAD = 0, /* waits for a request head */
	EGRESS_STATE_ASK,      /* is about to ask the owner */
	EGRESS_STATE_ASKED,    /* waits for the owner's answer */
	EGRESS_STATE_BEGIN,    /* was allowed to send the request */
	EGRESS_STATE_FLOW,     /* forwards request and response */
	EGRESS_STATE_RAW,      /* upgraded */
	EGRESS_STATE_END       /* sends what is queued, then CLOSE */
};

/* A head or answer that the exchange has written. */
struct egress_exchange_text {
	struct koda_buf buf;
	size_t sent;
};

struct egress_exchange {
	enum egress_state state;
	bool fixed; /* all requests are for fixed_host: terminated TLS, or a tunnel */
	bool fixed_tls;
	struct koda_host fixed_host;
	uint16_t fixed_port;

	struct egress_exchange_text out[2]; /* by the side that receives */
	struct egress_head_scan scan[2];    /* by the side that sends */
	struct egress_body body[2];
	uint64_t bytes[2]; /* of bodies, by the side that sends */

	bool has_origin;
	bool drop_origin; /* DROP_ORIGIN is due */

	/* The request. */
	bool has_request; /* the fields below are set */
	bool begun;       /* part of the request may have been sent */
	size_t head_len;  /* length of the head, which is still in the client's input */
	struct koda_host host;
	uint16_t port;
	bool tls;
	bool is_head;
	bool is_safe; /* may be sent again */
	bool close;   /* the client's connection ends after this request */
	bool upgrade;
	unsigned int minor;
	char method[EGRESS_METHOD_MAX];
	size_t method_len;
	char path[EGRESS_PATH_MAX];
	size_t path_len;

	/* The owner's answer. */
	struct egress_route route;
	bool reused;
	bool retry;

	/* The response. */
	unsigned int interim;
	bool answered; /* the final head was read */
	int status;
	bool origin_close;

	bool log_due;
	bool finished; /* the fields are reset before the next request */
	bool raw_told;
	bool shut[2]; /* after RAW: SHUT of this side was returned */

	bool refused;
	struct egress_refusal refusal;
	char rule[EGRESS_RULE_MAX];
};

void egress_exchange_text_reset(struct egress_exchange_text *text);
/* Sends queued bytes to a side, as far as there is room. Returns true if *out is a SEND. */
bool egress_exchange_flush(struct egress_exchange *x, enum egress_side side,
			   struct egress_port port[static 2], struct egress_output *out);
static inline bool egress_exchange_pending(const struct egress_exchange *x, enum egress_side side)
{
	return x->out[side].sent < x->out[side].buf.len;
}

/* Ends the exchange, with a refusal if no response has begun. */
void egress_exchange_fail(struct egress_exchange *x, const struct egress_refusal *why);

/* Fills in the record of the current request. */
void egress_exchange_record(const struct egress_exchange *x, struct egress_record *record);

/* Returns whether this valid request may be forwarded on this connection. Sets head->port if the
 * request has none. */
bool egress_exchange_is_ours(const struct egress_exchange *x, struct egress_head *head,
			     struct egress_refusal *why);

/* Makes *out a SEND of bytes, for which there is room. */
void egress_exchange_send(struct egress_port port[static 2], enum egress_side to,
			  struct koda_span bytes, struct egress_output *out);

/* Returns whether all of the request was sent. */
bool egress_exchange_is_sent(const struct egress_exchange *x);

/* Handles the state BEGIN. */
void egress_exchange_begin(struct egress_exchange *x, struct egress_port port[static 2]);
/* Handle the states FLOW and RAW. Return true if *ret_event is for the owner, false if the state
 * has changed. */
bool egress_exchange_flow(struct egress_exchange *x, struct egress_port port[static 2],
			  struct egress_output *out, enum egress_event *ret_event);
bool egress_exchange_raw(struct egress_exchange *x, struct egress_port port[static 2],
			 struct egress_output *out, enum egress_event *ret_event);

#endif
