/* SPDX-License-Identifier: MIT */
/* The inside of a terminated connection, for its own files. */
#ifndef KODA_EGRESS_TERMINATE_STATE_H
#define KODA_EGRESS_TERMINATE_STATE_H

#include "terminate.h"
#include "tls.h"

/* The longest head has to fit, and what one feed can add to that. */
#define PLAIN_MAX (EGRESS_HEAD_MAX + 2 * KODA_TERMINATE_FEED)

struct koda_end {
	struct koda_tls *tls;  /* owned; NULL: no connection */
	struct koda_buf plain; /* received */
	size_t taken;          /* of plain, by the exchange */
	bool eof;              /* nothing more will be received */
	bool shut;             /* nothing more will be sent */
};

struct koda_terminate {
	struct koda_tls_client *client; /* borrowed */
	struct koda_host host;
	uint16_t port;
	struct koda_end ends[2];
	struct egress_exchange *exchange; /* owned */
	struct egress_request request;    /* that wants an origin, while asked */
	bool asked;                       /* the exchange waits for an origin */
	bool dialling;                    /* the owner was told */
	bool used;                        /* the origin's connection has served a request */
	bool torn;                        /* the origin's TLS ended without saying so */
	bool over;
	bool sparing;
	struct koda_error failure; /* of TLS; code 0: none */
};

static inline enum koda_tls_state koda_end_state(const struct koda_end *end)
{
	return end->tls ? koda_tls_state(end->tls) : KODA_TLS_FAILED;
}
void koda_end_clear(struct koda_end *end);
/* TLS of this side has failed; the first reason counts. */
void koda_end_fail(struct koda_terminate *t, struct koda_end *end, const struct koda_error *err);

/* terminate_origin.c. A connection that was good once, and is no longer? */
bool koda_terminate_is_stale(const struct koda_terminate *t);
/* The exchange waits for an origin: true if there is one, or if there can be none. */
bool koda_terminate_answer(struct koda_terminate *t);
/* An origin that is not used again; the client still may be. True: there was one. */
bool koda_terminate_drop(struct koda_terminate *t);

#endif
