/* SPDX-License-Identifier: MIT */
/* SOCKS5: greeting and request, then a tunnel like any other. */
#include "conn.h"

#define MESSAGES_MAX 1024 /* greeting and request; early data waits in the socket */

static void broken(struct koda_conn *conn, enum koda_egress_reason reason)
{
	koda_conn_report(conn, reason);
	koda_conn_end(conn);
}

/* One message. False: the connection went on to another phase or ended. */
static bool step(struct koda_conn *conn, bool *ret_more)
{
	struct koda_span in = koda_input_span(&conn->in);
	struct egress_socks_output out = { 0 };
	enum egress_socks_event event = egress_socks_next(&conn->scan.socks, &in, &out);
	struct koda_egress_message message = { 0 };

	koda_input_take(&conn->in, conn->in.len - in.len);
	*ret_more = event == EGRESS_SOCKS_SEND && conn->in.len > 0;
	switch (event) {
	case EGRESS_SOCKS_MORE:
		break;
	case EGRESS_SOCKS_SEND:
		if (koda_flow_send(&conn->down, conn->client.fd, out.bytes.ptr, out.bytes.len) >= 0)
			break;
		broken(conn, KODA_EGRESS_RESET);
		return false;
	case EGRESS_SOCKS_CLOSE:
		if (out.code)
			KODA_REPORT_TEXT(message.text, koda_span_of(out.code));
		koda_conn_report_as(conn, KODA_EGRESS_BAD_REQUEST, &message);
		koda_last_begin(conn, out.bytes);
		return false;
	case EGRESS_SOCKS_CONNECT:
		if (koda_deal_set(conn, &out.host, out.port) < 0)
			koda_conn_refuse(conn, KODA_EGRESS_BAD_REQUEST);
		else
			koda_connect_begin(conn);
		return false;
	}
	return true;
}

/* Everything that came. */
static bool step_all(struct koda_conn *conn)
{
	bool more = true;

	while (more)
		if (!step(conn, &more))
			return false;
	return true;
}

static void on_client(struct koda_conn *conn)
{
	while (conn->up.readable) {
		switch (koda_input_fill(&conn->in, conn->client.fd, MESSAGES_MAX)) {
		case KODA_INPUT_DRY:
			conn->up.readable = false;
			break;
		case KODA_INPUT_GOT:
			if (!step_all(conn))
				return;
			break;
		case KODA_INPUT_END:
		case KODA_INPUT_FULL:
			broken(conn, KODA_EGRESS_BAD_REQUEST);
			return;
		case KODA_INPUT_POOR:
		case KODA_INPUT_BROKEN:
			broken(conn, KODA_EGRESS_RESET);
			return;
		}
	}
	if (koda_flow_flush(&conn->down, conn->client.fd) == KODA_FLOW_BROKEN)
		broken(conn, KODA_EGRESS_RESET);
}

static void on_late(struct koda_conn *conn)
{
	broken(conn, KODA_EGRESS_CLIENT_TIMEOUT);
}

static void abandon(struct koda_conn *conn, enum koda_egress_reason reason)
{
	koda_conn_report(conn, reason);
}

static const struct koda_phase socks = {
	.client = on_client,
	.late = on_late,
	.abandon = abandon,
};

void koda_socks_begin(struct koda_conn *conn)
{
	conn->phase = &socks;
	conn->socks = true;
	conn->scan.socks = (struct egress_socks){ 0 };
	if (step_all(conn))
		on_client(conn);
}
