/* SPDX-License-Identifier: MIT */
/* A tunnel was requested by CONNECT or SOCKS: reaches the target, answers, enters the tunnel. */
#include "conn/conn_report.h"
#include "conn/question.h"
#include "conn/reach.h"
#include "conn/refuse.h"
#include "proto/answer.h"

static void on_reached(struct egress_conn *conn, enum koda_egress_reason reason)
{
	struct koda_span ok =
		conn->socks ? egress_socks5_answer(EGRESS_SOCKS_OK) : egress_answer_established();

	if (reason != KODA_EGRESS_OK) {
		egress_refuse(conn, reason);
		return;
	}
	if (conn->client_gone) {
		egress_conn_report(conn, KODA_EGRESS_RESET);
		egress_conn_end(conn);
		return;
	}
	if (egress_flow_send(&conn->down, conn->client.fd, ok.ptr, ok.len) < 0) {
		egress_conn_report(conn, KODA_EGRESS_RESET);
		egress_conn_break(conn);
		return;
	}
	conn->down.bytes = 0; /* these are not bytes of the origin */
	egress_conn_enter(conn, EGRESS_PHASE_TUNNEL);
}

static void on_client(struct egress_conn *conn)
{
	/* What the client sends now is read in the tunnel. A connection whose question is open
	 * counts towards its tenant's limit until the answer, even if the client has closed. */
	if (!conn->client_gone || egress_question_is_open(conn))
		return;
	egress_conn_report(conn, KODA_EGRESS_RESET);
	egress_conn_end(conn);
}

static void on_late(struct egress_conn *conn)
{
	(void)conn; /* reach.c has its own deadlines */
}

static void abandon(struct egress_conn *conn, enum koda_egress_reason reason)
{
	egress_conn_report(conn, reason);
}

static bool has_target(const struct egress_conn *conn)
{
	return !egress_question_is_open(conn);
}

static void begin(struct egress_conn *conn)
{
	egress_deadline_clear(&conn->deadline);
	egress_reach_start(conn, EGRESS_REACH_TUNNEL, on_reached);
}

const struct egress_conn_phase egress_connect_phase = {
	.begin = begin,
	.client = on_client,
	.origin = on_client,
	.late = on_late,
	.abandon = abandon,
	.has_target = has_target,
};
