/* SPDX-License-Identifier: MIT */
/*
 * T-80. A tunnel. The client's bytes wait at a gate until they show what they are: TLS whose
 * ClientHello asks for the host that was allowed, HTTP, whose requests are checked from then on one
 * by one, or, on a port that is not for these, something else. Otherwise one allowed name would
 * open every site that shares its servers. The origin's bytes go to the client at once, for some
 * servers speak first; but not on ports where none does, for there they would be an answer to
 * nothing, which a client would take for that to its first request.
 */
#include "conn.h"

#include "reach.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

/* One idle timer for both directions; it is not worth moving it for every packet. */
#define TOUCH_MS 1000

/* TLS alerts that tell the client why: fatal, unrecognized_name and illegal_parameter. */
static const char alert_name[] = { 0x15, 0x03, 0x03, 0x00, 0x02, 0x02, 0x70 };
static const char alert_illegal[] = { 0x15, 0x03, 0x03, 0x00, 0x02, 0x02, 0x2f };

static void end(struct koda_conn *conn, enum koda_egress_reason reason)
{
	koda_conn_report(conn, reason);
	if (reason == KODA_EGRESS_RESET)
		koda_conn_break(conn);
	else
		koda_conn_end(conn);
}

static void refuse(struct koda_conn *conn, enum koda_egress_reason reason, const char *alert)
{
	/* If the server has spoken, the client is not waiting for TLS. */
	bool tell = conn->down.bytes == 0 && conn->down.held_len == 0;

	koda_conn_report(conn, reason);
	koda_last_begin(conn, (struct koda_span){ alert, tell ? sizeof(alert_name) : 0 });
}

static void touch(struct koda_conn *conn)
{
	struct koda_queue *idle = &conn->proxy->queues.idle;

	if (conn->deadline.at < koda_loop_now(conn->proxy->loop) + idle->ms - TOUCH_MS)
		koda_deadline_set(conn->proxy->loop, idle, &conn->deadline);
}

/* What was held back becomes the first that goes up. False: there is no memory for it. */
static bool open_gate(struct koda_conn *conn)
{
	conn->gate_open = true;
	koda_deadline_set(conn->proxy->loop, &conn->proxy->queues.idle, &conn->deadline);
	if (koda_flow_adopt(&conn->up, &conn->in) == KODA_OK)
		return true;
	end(conn, KODA_EGRESS_NO_MEMORY);
	return false;
}

/* The hello goes up, and nothing behind it before the origin has answered. */
static bool pass_hello(struct koda_conn *conn)
{
	size_t len = conn->scan.hello.at;

	conn->retry = KODA_RETRY_WAIT;
	if (koda_flow_send(&conn->up, conn->origin.fd, koda_input_span(&conn->in).ptr, len) < 0) {
		end(conn, KODA_EGRESS_RESET);
		return false;
	}
	koda_input_take(&conn->in, len);
	return true;
}

/* A line that has not ended: the origin may have it at once, for some wait for every letter. If it
 * becomes a request after all, that origin is left alone with its half. */
static bool pass_piece(struct koda_conn *conn)
{
	struct koda_span new = koda_span_skip(koda_input_span(&conn->in), conn->passed);

	if (koda_flow_send(&conn->up, conn->origin.fd, new.ptr, new.len) < 0) {
		end(conn, KODA_EGRESS_RESET);
		return false;
	}
	conn->passed = conn->in.len;
	return true;
}

static bool pass_all(struct koda_conn *conn)
{
	if (conn->passed > 0) {
		if (!pass_piece(conn))
			return false;
		koda_input_clear(&conn->in);
		conn->passed = 0;
		conn->gate_open = true;
		return true;
	}
	return open_gate(conn);
}

static void refuse_text(struct koda_conn *conn, const char *text)
{
	const struct egress_refusal why = { .status = 400, .code = "bad_request", .text = text };
	/* If the server has spoken, the client is not waiting for HTTP. */
	bool tell = conn->down.bytes == 0 && conn->down.held_len == 0;
	struct koda_egress_message event = { .bytes_up = conn->up.bytes,
					     .bytes_down = conn->down.bytes };
	char answer[EGRESS_ANSWER_MAX];
	size_t len = egress_answer(&why, koda_span_of(conn->deal.target.text), false, answer);

	KODA_REPORT_TEXT(event.text, koda_span_of(text));
	koda_conn_report_as(conn, KODA_EGRESS_BAD_REQUEST, &event);
	koda_conn_break_origin(conn);
	koda_last_begin(conn, (struct koda_span){ answer, tell ? len : 0 });
}

/* It is not TLS. */
static bool judge_text(struct koda_conn *conn, bool ended)
{
	bool web = egress_guess_is_web(conn->deal.target.port);

	switch (egress_guess_http(&conn->guess, koda_input_span(&conn->in), ended)) {
	case EGRESS_GUESS_OTHER:
		if (!web)
			return pass_all(conn);
		refuse_text(conn, "this port is for HTTP and TLS, and it was neither");
		return false;
	case EGRESS_GUESS_MORE:
		return web || pass_piece(conn);
	case EGRESS_GUESS_HOLD:
		return true;
	case EGRESS_GUESS_HTTP:
		if (ended)
			break;
		/* What it has heard or said already is not of this request. */
		if (conn->passed > 0 || conn->down.bytes > 0 || conn->early.len > 0)
			koda_conn_break_origin(conn);
		conn->passed = 0;
		conn->up.bytes = 0;
		koda_http_begin_in_tunnel(conn);
		return false;
	case EGRESS_GUESS_BAD:
		break;
	}
	refuse_text(conn, "it begins like a request, and is none");
	return false;
}

/* The client has no more to say before it was understood. */
static bool judge_end(struct koda_conn *conn)
{
	conn->up.ended = true;
	if (conn->guess.at > 0)
		return judge_text(conn, true);
	if (conn->in.len == 0)
		return pass_all(conn);
	refuse(conn, KODA_EGRESS_BAD_HELLO, alert_illegal);
	return false;
}

/* Looks at what came. False: the tunnel was refused, or is none any more. */
static bool judge(struct koda_conn *conn)
{
	struct egress_hello hello;
	const char *code = NULL;
	struct koda_span bytes = koda_input_span(&conn->in);
	enum egress_hello_state state = EGRESS_HELLO_DONE;
	size_t at = 0;

	if (conn->retry == KODA_RETRY_ASKED)
		state = egress_hello_second(bytes, &at);
	if (state == EGRESS_HELLO_DONE)
		state = egress_hello_read(&conn->scan.hello, koda_span_skip(bytes, at), &hello,
					  &code);
	/* A server that wants a hello takes nothing else. */
	if (state == EGRESS_HELLO_NOT_TLS && conn->retry == KODA_RETRY_ASKED)
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
	/* Where TLS is terminated nothing is hidden: whoever hides another name finds ours. */
	if (hello.ech && !koda_terminated_wanted(conn)) {
		refuse(conn, KODA_EGRESS_ECH, alert_illegal);
		return false;
	}
	if (!koda_sni_fits(conn, &hello)) {
		struct koda_egress_message event = { 0 };

		KODA_REPORT_TEXT(event.text,
				 koda_span_of(hello.has_name ? hello.name : "no server name"));
		koda_conn_report_as(conn, KODA_EGRESS_SNI_MISMATCH, &event);
		koda_last_begin(conn, (struct koda_span){ alert_name, sizeof(alert_name) });
		return false;
	}
	if (koda_terminated_wanted(conn) && conn->early.len > 0) {
		refuse(conn, KODA_EGRESS_TLS_FAILED, alert_illegal);
		return false;
	}
	if (koda_terminated_wanted(conn)) {
		koda_terminated_begin(conn, &hello);
		return false;
	}
	/* Before TLS 1.3 there is no second one. */
	if (conn->retry == KODA_RETRY_NONE && hello.retriable)
		return pass_hello(conn);
	conn->retry = KODA_RETRY_NONE;
	return open_gate(conn);
}

/* Reads towards a ClientHello. False: the tunnel is over. */
static bool fill_gate(struct koda_conn *conn)
{
	while (conn->up.readable && !conn->gate_open && conn->retry != KODA_RETRY_WAIT) {
		bool first = conn->in.len == 0;

		switch (koda_input_fill(&conn->in, conn->client.fd, EGRESS_HELLO_RAW_MAX)) {
		case KODA_INPUT_DRY:
			conn->up.readable = false;
			break;
		case KODA_INPUT_GOT:
			/* A short read has emptied the socket, unless its end is near. */
			if (conn->in.len < conn->in.cap && conn->in.len < EGRESS_HELLO_RAW_MAX)
				conn->up.readable = conn->up.hung_up;
			if (!judge(conn))
				return false;
			/* A greeting that has begun has to come to its end. */
			if (first && !conn->gate_open && conn->passed == 0)
				koda_deadline_set(conn->proxy->loop, &conn->proxy->queues.head,
						  &conn->deadline);
			break;
		case KODA_INPUT_END:
			if (!judge_end(conn))
				return false;
			break;
		case KODA_INPUT_FULL:
			refuse(conn, KODA_EGRESS_BAD_HELLO, alert_illegal);
			return false;
		case KODA_INPUT_POOR:
			end(conn, KODA_EGRESS_NO_MEMORY);
			return false;
		case KODA_INPUT_BROKEN:
			end(conn, KODA_EGRESS_RESET);
			return false;
		}
	}
	return true;
}

/* Part of a TLS greeting is there, or somebody waits for one. */
static bool is_greeting(const struct koda_conn *conn)
{
	return !conn->gate_open && (conn->in.len > 0 || conn->server_first) && conn->passed == 0;
}

/* The client has to speak first. */
static bool holds_origin(const struct koda_conn *conn)
{
	return !conn->gate_open && conn->retry == KODA_RETRY_NONE &&
	       egress_guess_is_web(conn->deal.target.port);
}

/* What the origin says to the first hello. False: the tunnel is over. */
static bool look_for_retry(struct koda_conn *conn)
{
	conn->retry = koda_retry_look(conn);
	if (conn->retry == KODA_RETRY_NONE)
		return open_gate(conn);
	if (conn->retry == KODA_RETRY_WAIT)
		return true;
	conn->scan.hello = (struct egress_hello_scan){ 0 };
	return conn->in.len == 0 || judge(conn);
}

/* Has the origin said something while the client says nothing? Then that is not going to wait for
 * long. False: it has closed, and the tunnel is over. */
static bool look_at_origin(struct koda_conn *conn)
{
	char byte;
	ssize_t n = conn->early.len > 0 ? 1 : 0;

	if (conn->server_first || (n == 0 && !conn->down.readable))
		return true;
	if (n == 0)
		n = recv(conn->origin.fd, &byte, 1, MSG_PEEK);
	if (n < 0 && errno == EAGAIN) {
		conn->down.readable = false;
		return true;
	}
	if (n <= 0) {
		end(conn, n == 0 ? KODA_EGRESS_OK : KODA_EGRESS_RESET);
		return false;
	}
	conn->server_first = true;
	koda_deadline_set(conn->proxy->loop, &conn->proxy->queues.head, &conn->deadline);
	return true;
}

static enum koda_flow_state run_down(struct koda_conn *conn)
{
	if (conn->early.len > 0 && koda_flow_adopt(&conn->down, &conn->early) < 0)
		return KODA_FLOW_BROKEN;
	conn->down.closes = conn->up.shut;
	return koda_flow_run(&conn->proxy->relay, &conn->down, conn->origin.fd, conn->client.fd);
}

static void go_on(struct koda_conn *conn)
{
	enum koda_flow_state down = KODA_FLOW_WAITS;
	enum koda_flow_state up = KODA_FLOW_WAITS;
	bool held;

	/* Nothing is read or written meanwhile that would tell. */
	if (conn->retry == KODA_RETRY_WAIT && conn->client_gone) {
		end(conn, KODA_EGRESS_RESET);
		return;
	}
	if (conn->retry == KODA_RETRY_WAIT && !look_for_retry(conn))
		return;
	held = holds_origin(conn);
	/* Of two ends that come together, the second needs no word of its own. */
	if (!held && conn->retry != KODA_RETRY_WAIT)
		down = run_down(conn);
	else if (koda_flow_flush(&conn->down, conn->client.fd) == KODA_FLOW_BROKEN)
		down = KODA_FLOW_BROKEN;
	if (!conn->gate_open && !fill_gate(conn))
		return;
	if (held && conn->gate_open)
		down = run_down(conn);
	else if (held && conn->retry == KODA_RETRY_NONE && !look_at_origin(conn))
		return;
	conn->up.closes = conn->down.shut;
	if (conn->gate_open)
		up = koda_flow_run(&conn->proxy->relay, &conn->up, conn->client.fd,
				   conn->origin.fd);
	else if (koda_flow_flush(&conn->up, conn->origin.fd) == KODA_FLOW_BROKEN)
		up = KODA_FLOW_BROKEN;
	if (!is_greeting(conn))
		touch(conn);
	if (up == KODA_FLOW_BROKEN || down == KODA_FLOW_BROKEN)
		end(conn, KODA_EGRESS_RESET);
	else if (up == KODA_FLOW_DONE && down == KODA_FLOW_DONE)
		end(conn, KODA_EGRESS_OK);
	else if (up == KODA_FLOW_GOES_ON || down == KODA_FLOW_GOES_ON)
		koda_conn_go_on(conn);
}

static void on_late(struct koda_conn *conn)
{
	end(conn, is_greeting(conn) ? KODA_EGRESS_CLIENT_TIMEOUT : KODA_EGRESS_IDLE);
}

static void abandon(struct koda_conn *conn, enum koda_egress_reason reason)
{
	koda_conn_report(conn, reason);
}

static bool has_target(const struct koda_conn *conn)
{
	(void)conn;
	return true;
}

static const struct koda_phase tunnel = {
	.client = go_on,
	.origin = go_on,
	.late = on_late,
	.go_on = go_on,
	.abandon = abandon,
	.has_target = has_target,
};

void koda_tunnel_begin(struct koda_conn *conn)
{
	conn->phase = &tunnel;
	conn->scan.hello = (struct egress_hello_scan){ 0 };
	conn->guess = (struct egress_guess_scan){ 0 };
	koda_deadline_set(conn->proxy->loop, &conn->proxy->queues.idle, &conn->deadline);
	if (conn->in.len > 0 && !conn->gate_open) {
		if (!judge(conn))
			return;
		if (is_greeting(conn))
			koda_deadline_set(conn->proxy->loop, &conn->proxy->queues.head,
					  &conn->deadline);
	}
	go_on(conn);
}
