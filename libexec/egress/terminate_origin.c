/* SPDX-License-Identifier: MIT */
/* T-75. The origin of a terminated connection: whether there is one, and what the exchange is told
 * about it. */
#include "terminate_state.h"

#include "tls_client.h"

/* An origin that is connected, shaken hands with, and has not ended. */
static bool origin_is_open(const struct koda_terminate *t)
{
	return koda_end_state(&t->ends[EGRESS_ORIGIN]) == KODA_TLS_OPEN &&
	       !t->ends[EGRESS_ORIGIN].eof;
}

/* A connection that was good once, and is no longer. */
bool koda_terminate_is_stale(const struct koda_terminate *t)
{
	const struct koda_end *origin = &t->ends[EGRESS_ORIGIN];
	bool was_open = t->used || koda_end_state(origin) == KODA_TLS_OPEN ||
			koda_end_state(origin) == KODA_TLS_ENDED;

	return origin->tls && was_open && (origin->eof || (t->used && t->request.retry));
}

/* The exchange waits for an origin: true if there is one, or if there can be none. */
bool koda_terminate_answer(struct koda_terminate *t)
{
	static const struct egress_route direct = { 0 };
	const struct egress_refusal why = {
		.status = 502,
		.code = "tls_failed",
		.text = t->failure.message,
	};

	if (origin_is_open(t)) {
		egress_exchange_allowed(t->exchange, t->used, &direct);
		t->used = true;
	} else if (t->ends[EGRESS_ORIGIN].tls && t->ends[EGRESS_ORIGIN].eof) {
		egress_exchange_refused(t->exchange, &why);
	} else {
		return false;
	}
	t->asked = false;
	return true;
}

/* An origin that is not used again; the client still may be. */
bool koda_terminate_drop(struct koda_terminate *t)
{
	bool there = t->ends[EGRESS_ORIGIN].tls != NULL;

	koda_end_clear(&t->ends[EGRESS_ORIGIN]);
	t->used = false;
	t->failure.code = KODA_OK;
	return there;
}

int koda_terminate_connected(struct koda_terminate *t, struct koda_error *err)
{
	struct koda_end *origin = &t->ends[EGRESS_ORIGIN];
	struct koda_error failure = { 0 };
	int r;

	t->dialling = false;
	t->torn = false;
	koda_end_clear(origin);
	r = koda_tls_connect(t->client, &t->host, t->port, &origin->tls, err);
	if (r == KODA_OK && koda_tls_handshake(origin->tls, &failure) < 0)
		koda_end_fail(t, origin, &failure);
	return r;
}

void koda_terminate_refused(struct koda_terminate *t, const struct egress_refusal *why)
{
	t->asked = false;
	t->dialling = false;
	egress_exchange_refused(t->exchange, why);
}
