/* SPDX-License-Identifier: MIT */
/* T-75. The origin's end of a terminated connection. */
#include "tls/terminate_state.h"

#include "tls/tls_client.h"

/* Returns whether the origin's handshake is complete and its stream has not ended. */
static bool origin_is_open(const struct egress_terminate *t)
{
	return egress_terminate_end_state(&t->ends[EGRESS_ORIGIN]) == EGRESS_TLS_OPEN &&
	       !t->ends[EGRESS_ORIGIN].eof;
}

bool egress_terminate_is_stale(const struct egress_terminate *t)
{
	const struct egress_terminate_end *origin = &t->ends[EGRESS_ORIGIN];
	bool was_open = t->used || egress_terminate_end_state(origin) == EGRESS_TLS_OPEN ||
			egress_terminate_end_state(origin) == EGRESS_TLS_ENDED;

	return origin->tls && was_open && (origin->eof || (t->used && t->request.retry));
}

bool egress_terminate_answer(struct egress_terminate *t)
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

bool egress_terminate_drop(struct egress_terminate *t)
{
	bool there = t->ends[EGRESS_ORIGIN].tls != NULL;

	egress_terminate_end_clear(&t->ends[EGRESS_ORIGIN]);
	t->used = false;
	t->failure.code = KODA_OK;
	return there;
}

int egress_terminate_connected(struct egress_terminate *t, struct koda_error *err)
{
	struct egress_terminate_end *origin = &t->ends[EGRESS_ORIGIN];
	struct koda_error failure = { 0 };
	int r;

	t->dialling = false;
	t->torn = false;
	egress_terminate_end_clear(origin);
	r = egress_tls_connect(t->client, &t->host, t->port, &origin->tls, err);
	if (r == KODA_OK && egress_tls_handshake(origin->tls, &failure) < 0)
		egress_terminate_end_fail(t, origin, &failure);
	return r;
}

void egress_terminate_refused(struct egress_terminate *t, const struct egress_refusal *why)
{
	t->asked = false;
	t->dialling = false;
	egress_exchange_refused(t->exchange, why);
}
