/* SPDX-License-Identifier: MIT */
/* Internals of a terminated connection, for terminate*.c. */
#ifndef KODA_EGRESS_TLS_TERMINATE_STATE_H
#define KODA_EGRESS_TLS_TERMINATE_STATE_H

#include "tls/terminate.h"
#include "tls/tls.h"

/* The longest head, and the bytes that one feed can add. */
#define PLAIN_MAX (EGRESS_HEAD_MAX + 2 * EGRESS_TERMINATE_FEED)

struct egress_terminate_end {
	struct egress_tls *tls; /* owned; NULL: no connection */
	struct koda_buf plain;  /* decrypted input */
	size_t taken;           /* bytes of plain that the exchange has consumed */
	bool eof;               /* the stream has ended, or TLS has failed */
	bool shut;              /* close_notify was sent */
};

struct egress_terminate {
	struct egress_tls_client *client; /* borrowed */
	struct koda_host host;
	uint16_t port;
	struct egress_terminate_end ends[2];
	struct egress_exchange *exchange; /* owned */
	struct egress_request request;    /* valid while asked */
	bool asked;                       /* the exchange waits for an origin */
	bool dialling;                    /* the owner has got WANT_ORIGIN */
	bool used;                        /* the origin's connection has served a request */
	bool torn;                        /* the origin's stream ended without close_notify */
	bool over;
	bool sparing;
	struct koda_error failure; /* of TLS; code KODA_OK: none */
};

static inline enum egress_tls_state
egress_terminate_end_state(const struct egress_terminate_end *end)
{
	return end->tls ? egress_tls_state(end->tls) : EGRESS_TLS_FAILED;
}
void egress_terminate_end_clear(struct egress_terminate_end *end);
/* Records that TLS of this end failed; keeps the first error. */
void egress_terminate_end_fail(struct egress_terminate *t, struct egress_terminate_end *end,
			       const struct koda_error *err);

/* terminate_origin.c: returns whether the origin's connection was usable, and is not any more. */
bool egress_terminate_is_stale(const struct egress_terminate *t);
/* Answers the exchange's question for an origin. Returns false if the origin is not ready yet. */
bool egress_terminate_answer(struct egress_terminate *t);
/* Frees the origin's end; the client's continues. Returns whether there was one. */
bool egress_terminate_drop(struct egress_terminate *t);

#endif
