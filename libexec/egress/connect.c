/* SPDX-License-Identifier: MIT */
/* A tunnel is asked for, by CONNECT or SOCKS: reach the target, answer, begin to relay. */
#include "conn.h"
#include "reach.h"
#include "reason.h"

static int status_of(enum koda_egress_reason reason)
{
	switch (reason) {
	case KODA_EGRESS_BAD_REQUEST:
	case KODA_EGRESS_BAD_HELLO:
		return 400;
	case KODA_EGRESS_BAD_METHOD:
		return 405;
	case KODA_EGRESS_CLIENT_TIMEOUT:
		return 408;
	case KODA_EGRESS_MISDIRECTED:
		return 421;
	case KODA_EGRESS_HEAD_TOO_LARGE:
		return 431;
	case KODA_EGRESS_NO_TOKEN:
	case KODA_EGRESS_LIMIT:
	case KODA_EGRESS_NO_MEMORY:
		return 503;
	case KODA_EGRESS_CONNECT_TIMEOUT:
	case KODA_EGRESS_IDLE:
		return 504;
	case KODA_EGRESS_RESOLVE_FAILED:
	case KODA_EGRESS_CONNECT_FAILED:
	case KODA_EGRESS_UPSTREAM_FAILED:
	case KODA_EGRESS_BAD_RESPONSE:
	case KODA_EGRESS_TLS_FAILED:
	case KODA_EGRESS_RESET:
		return 502;
	case KODA_EGRESS_OK:
	case KODA_EGRESS_RULE_DENIED:
	case KODA_EGRESS_NOT_LISTED:
	case KODA_EGRESS_ASK_DENIED:
	case KODA_EGRESS_ADDRESS_GUARD:
	case KODA_EGRESS_SNI_MISMATCH:
	case KODA_EGRESS_ECH:
	case KODA_EGRESS_RULES_CHANGED:
	case KODA_EGRESS_REMOVED:
	case KODA_EGRESS_PROXY_FAILED:
	case KODA_EGRESS_EVENTS_LOST:
	case KODA_EGRESS_REASON_COUNT:
		break;
	}
	return 403;
}

struct egress_refusal koda_refusal(enum koda_egress_reason reason, struct koda_span rule)
{
	return (struct egress_refusal){ .status = status_of(reason),
					.code = koda_reason_code(reason),
					.text = koda_reason_text(reason),
					.rule = rule };
}

static enum egress_socks_reply socks_reply(const struct koda_conn *conn,
					   enum koda_egress_reason reason)
{
	if (status_of(reason) == 403)
		return EGRESS_SOCKS_NOT_ALLOWED;
	if (reason == KODA_EGRESS_CONNECT_FAILED && conn->deal.sys_errno != 0)
		return egress_socks_reply_for(conn->deal.sys_errno);
	if (reason == KODA_EGRESS_CONNECT_TIMEOUT || reason == KODA_EGRESS_RESOLVE_FAILED)
		return EGRESS_SOCKS_HOST_UNREACHABLE;
	return EGRESS_SOCKS_FAILURE;
}

void koda_conn_refuse(struct koda_conn *conn, enum koda_egress_reason reason)
{
	struct egress_refusal why = koda_refusal(reason, conn->deal.decision.rule);
	struct koda_egress_message event = { .status = (uint16_t)(conn->socks ? 0 : why.status) };
	char answer[EGRESS_ANSWER_MAX];
	struct koda_span bytes = { answer, 0 };

	koda_conn_report_as(conn, reason, &event);
	if (conn->socks)
		bytes = egress_socks_answer(socks_reply(conn, reason));
	else
		bytes.len =
			egress_answer(&why, koda_span_of(conn->deal.target.text), false, answer);
	koda_last_begin(conn, bytes);
}

static void on_reached(struct koda_conn *conn, enum koda_egress_reason reason)
{
	struct koda_span ok =
		conn->socks ? egress_socks_answer(EGRESS_SOCKS_OK) : egress_answer_established();

	if (reason != KODA_EGRESS_OK) {
		koda_conn_refuse(conn, reason);
		return;
	}
	if (conn->client_gone) {
		koda_conn_report(conn, KODA_EGRESS_RESET);
		koda_conn_end(conn);
		return;
	}
	if (koda_flow_send(&conn->down, conn->client.fd, ok.ptr, ok.len) < 0) {
		koda_conn_report(conn, KODA_EGRESS_RESET);
		koda_conn_break(conn);
		return;
	}
	conn->down.bytes = 0; /* the answer is not the origin's */
	koda_tunnel_begin(conn);
}

static void on_client(struct koda_conn *conn)
{
	/* What it sends meanwhile is read in the tunnel. Whoever asked and went away still has
	 * somebody thinking about it, and counts as long as that lasts. */
	if (!conn->client_gone || koda_reach_is_asking(conn))
		return;
	koda_conn_report(conn, KODA_EGRESS_RESET);
	koda_conn_end(conn);
}

static void on_late(struct koda_conn *conn)
{
	(void)conn; /* reaching has its own deadlines */
}

static void abandon(struct koda_conn *conn, enum koda_egress_reason reason)
{
	koda_conn_report(conn, reason);
}

static bool has_target(const struct koda_conn *conn)
{
	return !koda_reach_is_asking(conn);
}

static const struct koda_phase connecting = {
	.client = on_client,
	.origin = on_client,
	.late = on_late,
	.abandon = abandon,
	.has_target = has_target,
};

void koda_connect_begin(struct koda_conn *conn)
{
	conn->phase = &connecting;
	koda_deadline_clear(&conn->deadline);
	koda_reach_start(conn, KODA_REACH_TUNNEL, on_reached);
}
