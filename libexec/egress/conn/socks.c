/* SPDX-License-Identifier: MIT */
/* The phase of SOCKS5: greeting and request. A tunnel follows. */
#include "conn/conn_report.h"
#include "conn/final_answer.h"
#include "conn/refuse.h"

#define MESSAGES_MAX 1024 /* greeting and request; early data waits in the socket */

static void broken(struct egress_conn *conn, enum koda_egress_reason reason)
{
	egress_conn_report(conn, reason);
	egress_conn_end(conn);
}

/* Handles one message. Returns false if the connection entered another phase or ended. */
static bool step(struct egress_conn *conn, bool *ret_more)
{
	struct koda_span in = egress_input_span(&conn->in);
	struct egress_socks_output out = { 0 };
	enum egress_socks_event event = egress_socks5_next(&conn->scan.socks, &in, &out);
	struct koda_egress_message message = { 0 };

	egress_input_take(&conn->in, conn->in.len - in.len);
	*ret_more = event == EGRESS_SOCKS_SEND && conn->in.len > 0;
	switch (event) {
	case EGRESS_SOCKS_MORE:
		break;
	case EGRESS_SOCKS_SEND:
		if (egress_flow_send(&conn->down, conn->client.fd, out.bytes.ptr, out.bytes.len) >=
		    0)
			break;
		broken(conn, KODA_EGRESS_RESET);
		return false;
	case EGRESS_SOCKS_CLOSE:
		if (out.code)
			EGRESS_REPORT_TEXT(message.text, koda_span_of(out.code));
		egress_conn_report_as(conn, KODA_EGRESS_BAD_REQUEST, &message);
		egress_final_answer_begin(conn, out.bytes);
		return false;
	case EGRESS_SOCKS_CONNECT:
		if (egress_route_record_set(&conn->route, &out.host, out.port) < 0)
			egress_refuse(conn, KODA_EGRESS_BAD_REQUEST);
		else
			egress_conn_enter(conn, EGRESS_PHASE_CONNECT);
		return false;
	}
	return true;
}

/* Handles all messages in conn->in. */
static bool step_all(struct egress_conn *conn)
{
	bool more = true;

	while (more)
		if (!step(conn, &more))
			return false;
	return true;
}

static void on_client(struct egress_conn *conn)
{
	while (conn->up.readable) {
		switch (egress_input_fill(&conn->in, conn->client.fd, MESSAGES_MAX)) {
		case EGRESS_INPUT_DRY:
			conn->up.readable = false;
			break;
		case EGRESS_INPUT_GOT:
			if (!step_all(conn))
				return;
			break;
		case EGRESS_INPUT_END:
		case EGRESS_INPUT_FULL:
			broken(conn, KODA_EGRESS_BAD_REQUEST);
			return;
		case EGRESS_INPUT_POOR:
		case EGRESS_INPUT_BROKEN:
			broken(conn, KODA_EGRESS_RESET);
			return;
		}
	}
	if (egress_flow_flush(&conn->down, conn->client.fd) == EGRESS_FLOW_BROKEN)
		broken(conn, KODA_EGRESS_RESET);
}

static void on_late(struct egress_conn *conn)
{
	broken(conn, KODA_EGRESS_CLIENT_TIMEOUT);
}

static void abandon(struct egress_conn *conn, enum koda_egress_reason reason)
{
	egress_conn_report(conn, reason);
}

static void begin(struct egress_conn *conn)
{
	conn->socks = true;
	conn->scan.socks = (struct egress_socks){ 0 };
	if (step_all(conn))
		on_client(conn);
}

const struct egress_conn_phase egress_socks_phase = {
	.begin = begin,
	.client = on_client,
	.late = on_late,
	.abandon = abandon,
};
