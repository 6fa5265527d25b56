/* SPDX-License-Identifier: MIT */
#include "conn/question.h"

#include "tls/intercept.h"

/* Connections of one tenant that wait for an answer, including those whose client has closed. */
#define WAITING_MAX 64

static bool send_question(struct egress_conn *conn)
{
	struct koda_egress_message message = { .kind = KODA_EGRESS_ASK, .id = conn->tenant->id };

	if (++conn->proxy->questions == 0)
		conn->proxy->questions = 1;
	message.question = conn->proxy->questions;
	message.port = conn->route.target.port;
	EGRESS_REPORT_TEXT(message.host, koda_span_of(conn->route.target.text));
	return egress_report(&conn->proxy->reports, &message);
}

bool egress_question_is_moot(struct egress_conn *conn)
{
	struct egress_route_record *route = &conn->route;
	const struct egress_target *target = &route->target;
	const struct koda_addr *addr = egress_target_address(target);
	struct egress_decision now;
	const char *socket_path;

	/* For a proxy of socket_map the address does not matter. */
	if (!addr || egress_intercept_host(conn->tenant->intercept, &target->host, target->port,
					   &socket_path) == EGRESS_INTERCEPT_SOCKET)
		return false;
	now = egress_decide_address(route->ruleset->rules, &conn->proxy->host_addrs, target, true,
				    addr);
	if (now.reason != KODA_EGRESS_OK)
		route->decision = now;
	return now.reason != KODA_EGRESS_OK;
}

uint32_t egress_question_for(struct egress_conn *conn)
{
	const struct egress_link *conns = &conn->tenant->conns;
	unsigned int waiting = 0;

	for (const struct egress_link *l = conns->next; l != conns; l = l->next) {
		const struct egress_conn *other =
			EGRESS_OUTER(struct egress_conn, link, (uintptr_t)l);

		if (!egress_question_is_open(other))
			continue;
		if (egress_target_equal(&other->route.target, &conn->route.target))
			return other->question;
		waiting++;
	}
	return waiting < WAITING_MAX && send_question(conn) ? conn->proxy->questions : 0;
}
