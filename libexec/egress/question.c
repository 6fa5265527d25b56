/* SPDX-License-Identifier: MIT */
/* T-83. Asking the host about a name that no rule speaks of: one question for all who want to go to
 * the same place, and not more of them than a person could answer. */
#include "conn.h"
#include "reach.h"

/* Connections of one sandbox that wait for a person, or did until they went away. */
#define WAITING_MAX 64

static bool send_question(struct koda_conn *conn)
{
	struct koda_egress_message message = { .kind = KODA_EGRESS_ASK, .id = conn->tenant->id };

	if (++conn->proxy->questions == 0)
		conn->proxy->questions = 1;
	message.question = conn->proxy->questions;
	message.port = conn->deal.target.port;
	KODA_REPORT_TEXT(message.host, koda_span_of(conn->deal.target.text));
	return koda_report(&conn->proxy->reports, &message);
}

uint32_t koda_question_for(struct koda_conn *conn)
{
	const struct koda_link *conns = &conn->tenant->conns;
	unsigned int waiting = 0;

	for (const struct koda_link *l = conns->next; l != conns; l = l->next) {
		const struct koda_conn *other = KODA_OUTER(struct koda_conn, link, (uintptr_t)l);

		if (!koda_reach_is_asking(other))
			continue;
		if (koda_target_equal(&other->deal.target, &conn->deal.target))
			return koda_reach_question(other);
		waiting++;
	}
	return waiting < WAITING_MAX && send_question(conn) ? conn->proxy->questions : 0;
}
