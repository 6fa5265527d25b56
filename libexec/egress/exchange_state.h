/* SPDX-License-Identifier: MIT */
/* The inside of an exchange, for its own files. */
#ifndef EGRESS_EXCHANGE_STATE_H
#define EGRESS_EXCHANGE_STATE_H

#include "exchange.h"

enum egress_state {
	EGRESS_STATE_HEAD = 0, /* waits for a request head */
	EGRESS_STATE_ASK,      /* has to ask the owner */
	EGRESS_STATE_ASKED,    /* has asked */
	EGRESS_STATE_BEGIN,    /* has the answer */
	EGRESS_STATE_FLOW,     /* request and response flow */
	EGRESS_STATE_RAW,      /* upgraded */
	EGRESS_STATE_END       /* says what is left to say, then CLOSE for ever */
};

/* A head of our making and how much of it was sent. */
struct egress_text {
	struct koda_buf buf;
	size_t sent;
};

struct egress_exchange {
	enum egress_state state;
	bool fixed; /* terminated TLS, or a tunnel: for this host only */
	bool fixed_tls;
	struct koda_host fixed_host;
	uint16_t fixed_port;

	struct egress_text out[2];       /* heads and answers, by the side they go to */
	struct egress_head_scan scan[2]; /* by the side they come from */
	struct egress_body body[2];
	uint64_t bytes[2]; /* of bodies, by the side they come from */

	bool has_origin;
	bool drop_origin; /* tell the owner to close it */

	/* The request. */
	bool has_request; /* the fields below are set */
	size_t head_len;  /* its head is still in the client's input */
	struct koda_host host;
	uint16_t port;
	bool tls;
	bool is_head;
	bool is_safe; /* may be sent a second time */
	bool close;   /* the client's connection ends after it */
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
	bool answered; /* its final head was read */
	int status;
	bool origin_close;

	bool log_due;
	bool finished; /* the next request starts with a clean slate */
	bool raw_told;
	bool shut[2]; /* raw: told to shut this side down */

	bool refused;
	struct egress_refusal refusal;
	char rule[EGRESS_RULE_MAX];
};

void egress_text_reset(struct egress_text *text);
/* Bytes that wait in text are sent as far as there is room. True if *out is a SEND. */
bool egress_exchange_flush(struct egress_exchange *x, enum egress_side side,
			   struct egress_port port[static 2], struct egress_output *out);
static inline bool egress_exchange_pending(const struct egress_exchange *x, enum egress_side side)
{
	return x->out[side].sent < x->out[side].buf.len;
}

/* Ends the exchange with an answer, if none has begun. */
void egress_exchange_fail(struct egress_exchange *x, const struct egress_refusal *why);

/* What is to be told of the present request. */
void egress_exchange_record(const struct egress_exchange *x, struct egress_record *record);

/* May this well-formed request be forwarded from here? Fills in the port it means. */
bool egress_exchange_is_ours(const struct egress_exchange *x, struct egress_head *head,
			     struct egress_refusal *why);

/* Takes len bytes off the input and makes them a SEND for the other side. */
void egress_exchange_pass(struct egress_port port[static 2], enum egress_side from, size_t len,
			  struct egress_output *out);

/* The state BEGIN. */
void egress_exchange_begin(struct egress_exchange *x, struct egress_port port[static 2]);
/* The states FLOW and RAW; true if *ret_event is to be told, false if the state has changed or
 * (WAIT) nothing can be done. */
bool egress_exchange_flow(struct egress_exchange *x, struct egress_port port[static 2],
			  struct egress_output *out, enum egress_event *ret_event);
bool egress_exchange_raw(struct egress_exchange *x, struct egress_port port[static 2],
			 struct egress_output *out, enum egress_event *ret_event);

#endif
