/* SPDX-License-Identifier: MIT */
/* One end of a terminated connection: TLS with the client, or with the origin. */
#include "tls/terminate_state.h"

void egress_terminate_end_clear(struct egress_terminate_end *end)
{
	egress_tls_free(end->tls);
	koda_buf_clear(&end->plain);
	*end = (struct egress_terminate_end){ .plain = KODA_BUF_INIT(PLAIN_MAX) };
}

void egress_terminate_end_fail(struct egress_terminate *t, struct egress_terminate_end *end,
			       const struct koda_error *err)
{
	end->eof = true;
	if (t->failure.code == KODA_OK)
		t->failure = *err;
	if (end == &t->ends[EGRESS_ORIGIN])
		t->torn = true;
}
