/* SPDX-License-Identifier: MIT */
#include "conn/gate.h"

#include "conn/conn_report.h"
#include "conn/final_answer.h"
#include "conn/sni.h"
#include "conn/turn.h"
#include "proto/answer.h"
#include "proto/ident.h"

/* TLS alerts for the client: fatal, unrecognized_name and illegal_parameter. */
static const char alert_name[] = { 0x15, 0x03, 0x03, 0x00, 0x02, 0x02, 0x70 };
static const char alert_illegal[] = { 0x15, 0x03, 0x03, 0x00, 0x02, 0x02, 0x2f };

static void refuse(struct egress_conn *conn, enum koda_egress_reason reason, const char *alert)
{
	/* After bytes from the server, the client does not expect TLS. */
	bool tell = conn->down.bytes == 0 && conn->down.held_len == 0;

	egress_conn_report(conn, reason);
	egress_final_answer_begin(conn, (struct koda_span){ alert, tell ? sizeof(alert_name) : 0 });
}

bool egress_gate_open(struct egress_conn *conn)
{
	conn->gate_open = true;
	egress_deadline_set(conn->proxy->loop, &conn->proxy->queues.tunnel, &conn->deadline);
	if (egress_flow_adopt(&conn->up, &conn->in) == KODA_OK)
		return true;
	egress_conn_finish(conn, KODA_EGRESS_NO_MEMORY);
	return false;
}

/* Sends the ClientHello to the origin. The client's further bytes wait for the origin's answer. */
static bool pass_hello(struct egress_conn *conn)
{
	size_t len = conn->scan.hello.at;

	conn->retry = EGRESS_RETRY_WAIT;
	if (egress_flow_send(&conn->up, conn->origin.fd, egress_input_span(&conn->in).ptr, len) <
	    0) {
		egress_conn_finish(conn, KODA_EGRESS_RESET);
		return false;
	}
	egress_input_take(&conn->in, len);
	return true;
}

/* Sends part of a line, because some servers wait for every byte. If the line becomes an HTTP
 * request, the origin is dropped with an incomplete line. */
static bool pass_piece(struct egress_conn *conn)
{
	struct koda_span new = koda_span_skip(egress_input_span(&conn->in), conn->passed);

	if (egress_flow_send(&conn->up, conn->origin.fd, new.ptr, new.len) < 0) {
		egress_conn_finish(conn, KODA_EGRESS_RESET);
		return false;
	}
	conn->passed = conn->in.len;
	return true;
}

/* Sends a line that is longer than the buffer for sniffing. */
static bool pass_long(struct egress_conn *conn)
{
	if (!pass_piece(conn))
		return false;
	egress_input_take(&conn->in, conn->in.len);
	conn->passed = 0;
	return true;
}

static bool pass_all(struct egress_conn *conn)
{
	if (conn->passed == 0 && !conn->sniff.longer)
		return egress_gate_open(conn);
	conn->gate_open = true;
	return pass_long(conn);
}

static void refuse_text(struct egress_conn *conn, const char *text)
{
	const struct egress_refusal why = { .status = 400, .code = "bad_request", .text = text };
	/* After bytes from the server, the client does not expect HTTP. */
	bool tell = conn->down.bytes == 0 && conn->down.held_len == 0;
	struct koda_egress_message event = { .bytes_up = conn->up.bytes,
					     .bytes_down = conn->down.bytes };
	char answer[EGRESS_ANSWER_MAX];
	size_t len = egress_answer(&why, koda_span_of(conn->route.target.text), false, answer);

	EGRESS_REPORT_TEXT(event.text, koda_span_of(text));
	egress_conn_report_as(conn, KODA_EGRESS_BAD_REQUEST, &event);
	egress_conn_break_origin(conn);
	egress_final_answer_begin(conn, (struct koda_span){ answer, tell ? len : 0 });
}

/* Sends the SSH identification line. The client's further bytes wait for the server's line. */
static bool pass_ident(struct egress_conn *conn, size_t len)
{
	if (conn->server_ssh)
		return egress_gate_open(conn);
	conn->retry = EGRESS_RETRY_IDENT;
	if (egress_flow_send(&conn->up, conn->origin.fd, egress_input_span(&conn->in).ptr, len) <
	    0) {
		egress_conn_finish(conn, KODA_EGRESS_RESET);
		return false;
	}
	egress_input_take(&conn->in, len);
	/* The origin's bytes may have arrived already. */
	egress_turn_wait(conn);
	return true;
}

void egress_gate_refuse_origin(struct egress_conn *conn)
{
	struct koda_egress_message event = { .bytes_up = conn->up.bytes };

	EGRESS_REPORT_TEXT(
		event.text,
		koda_span_of("this port is for HTTP, TLS and SSH, and the server did not "
			     "answer as an SSH server"));
	egress_conn_report_as(conn, KODA_EGRESS_BAD_REQUEST, &event);
	egress_conn_break(conn);
}

static bool refuse_other(struct egress_conn *conn)
{
	refuse_text(conn, "this port is for HTTP, TLS and SSH, and the bytes are none of these");
	return false;
}

/* Judges bytes that are neither TLS nor HTTP. */
static bool judge_other(struct egress_conn *conn, bool ended)
{
	size_t len = 0;

	if (!egress_sniff_is_web(conn->route.target.port))
		return pass_all(conn);
	switch (egress_ident_client(egress_input_span(&conn->in), &len)) {
	case EGRESS_IDENT_YES:
		return pass_ident(conn, len);
	case EGRESS_IDENT_MORE:
		return !ended || refuse_other(conn);
	case EGRESS_IDENT_NO:
		break;
	}
	return refuse_other(conn);
}

/* Judges bytes that are not TLS. */
static bool judge_text(struct egress_conn *conn, bool ended)
{
	bool web = egress_sniff_is_web(conn->route.target.port);

	switch (egress_sniff_http(&conn->sniff, egress_input_span(&conn->in), ended)) {
	case EGRESS_SNIFF_OTHER:
		return judge_other(conn, ended);
	case EGRESS_SNIFF_MORE:
		return web || pass_piece(conn);
	case EGRESS_SNIFF_HOLD:
		return true;
	case EGRESS_SNIFF_LONG:
		return web ? refuse_other(conn) : pass_long(conn);
	case EGRESS_SNIFF_HTTP:
		if (ended)
			break;
		/* Bytes exchanged with the origin do not belong to this request. */
		if (conn->passed > 0 || conn->down.bytes > 0 || conn->early.len > 0)
			egress_conn_break_origin(conn);
		conn->passed = 0;
		conn->up.bytes = 0;
		egress_conn_enter(conn, EGRESS_PHASE_HTTP_IN_TUNNEL);
		return false;
	case EGRESS_SNIFF_BAD:
		break;
	}
	refuse_text(conn, "it begins like an HTTP request, and is malformed");
	return false;
}

/* Judges what the client sent before it closed its sending direction. */
static bool judge_end(struct egress_conn *conn)
{
	conn->up.ended = true;
	if (conn->sniff.at > 0)
		return judge_text(conn, true);
	if (conn->in.len == 0)
		return pass_all(conn);
	refuse(conn, KODA_EGRESS_BAD_HELLO, alert_illegal);
	return false;
}

bool egress_gate_judge(struct egress_conn *conn)
{
	struct egress_hello hello;
	const char *code = NULL;
	struct koda_span bytes = egress_input_span(&conn->in);
	enum egress_hello_state state = EGRESS_HELLO_DONE;
	size_t at = 0;

	if (conn->sniff.longer)
		return judge_text(conn, false);
	if (conn->retry == EGRESS_RETRY_ASKED)
		state = egress_hello_second(bytes, &at);
	if (state == EGRESS_HELLO_DONE)
		state = egress_hello_read(&conn->scan.hello, koda_span_skip(bytes, at), &hello,
					  &code);
	/* After HelloRetryRequest only a ClientHello may follow. */
	if (state == EGRESS_HELLO_NOT_TLS && conn->retry == EGRESS_RETRY_ASKED)
		state = EGRESS_HELLO_BAD;
	switch (state) {
	case EGRESS_HELLO_NOT_TLS:
		return judge_text(conn, false);
	case EGRESS_HELLO_MORE:
		return true;
	case EGRESS_HELLO_BAD:
		refuse(conn, KODA_EGRESS_BAD_HELLO, alert_illegal);
		return false;
	case EGRESS_HELLO_DONE:
		break;
	}
	/* With termination the proxy answers the ClientHello, with a certificate for the tunnel's
	 * name. */
	if (hello.ech && !egress_sni_is_terminated(conn)) {
		refuse(conn, KODA_EGRESS_ECH, alert_illegal);
		return false;
	}
	if (!egress_sni_fits(conn, &hello)) {
		struct koda_egress_message event = { 0 };

		EGRESS_REPORT_TEXT(event.text,
				   koda_span_of(hello.has_name ? hello.name : "no server name"));
		if (hello.has_name)
			EGRESS_REPORT_TEXT(event.tls_name, koda_span_of(hello.name));
		egress_conn_report_as(conn, KODA_EGRESS_SNI_MISMATCH, &event);
		egress_final_answer_begin(conn,
					  (struct koda_span){ alert_name, sizeof(alert_name) });
		return false;
	}
	if (egress_sni_is_terminated(conn) && conn->early.len > 0) {
		refuse(conn, KODA_EGRESS_TLS_FAILED, alert_illegal);
		return false;
	}
	if (egress_sni_is_terminated(conn)) {
		egress_conn_enter(conn, EGRESS_PHASE_TERMINATION);
		return false;
	}
	/* TLS 1.2 and older have no second ClientHello. */
	if (conn->retry == EGRESS_RETRY_NONE && hello.retriable)
		return pass_hello(conn);
	conn->retry = EGRESS_RETRY_NONE;
	return egress_gate_open(conn);
}

/* Returns whether a long line has to wait until the origin has received its beginning. */
static bool is_stalled(struct egress_conn *conn)
{
	return conn->sniff.longer &&
	       egress_flow_flush(&conn->up, conn->origin.fd) == EGRESS_FLOW_WAITS;
}

bool egress_gate_fill(struct egress_conn *conn)
{
	if (is_stalled(conn))
		return true;
	while (conn->up.readable && !conn->gate_open && conn->retry < EGRESS_RETRY_WAIT) {
		bool first = conn->in.len == 0;

		switch (egress_input_fill(&conn->in, conn->client.fd, EGRESS_HELLO_RAW_MAX)) {
		case EGRESS_INPUT_DRY:
			conn->up.readable = false;
			break;
		case EGRESS_INPUT_GOT:
			/* A short read means that the socket is empty, unless EPOLLRDHUP was
			 * seen. */
			if (conn->in.len < conn->in.cap && conn->in.len < EGRESS_HELLO_RAW_MAX)
				conn->up.readable = conn->up.hung_up;
			if (!egress_gate_judge(conn))
				return false;
			/* Other connections get their turn. */
			if (conn->sniff.longer) {
				egress_turn_wait(conn);
				return true;
			}
			/* A ClientHello or first line that has begun must be complete in time. */
			if (first && !conn->gate_open && conn->passed == 0)
				egress_deadline_set(conn->proxy->loop, &conn->proxy->queues.head,
						    &conn->deadline);
			break;
		case EGRESS_INPUT_END:
			if (!judge_end(conn))
				return false;
			break;
		case EGRESS_INPUT_FULL:
			refuse(conn, KODA_EGRESS_BAD_HELLO, alert_illegal);
			return false;
		case EGRESS_INPUT_POOR:
			egress_conn_finish(conn, KODA_EGRESS_NO_MEMORY);
			return false;
		case EGRESS_INPUT_BROKEN:
			egress_conn_finish(conn, KODA_EGRESS_RESET);
			return false;
		}
	}
	return true;
}
