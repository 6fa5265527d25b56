/* SPDX-License-Identifier: MIT */
/*
 * T-80. The phase of a tunnel. The client's bytes wait at the gate (gate.c) until they are
 * identified. The origin's bytes pass at once, because some servers send first. They do not on web
 * ports: there the client would take them for the response to its first request.
 */
#include "conn/conn_report.h"
#include "conn/gate.h"
#include "conn/hello_retry.h"
#include "conn/turn.h"
#include "proto/ident.h"

#include "conn/reach.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

/* Granularity of the idle deadline: it is not moved for every packet. */
#define TOUCH_MS 1000

static void touch(struct egress_conn *conn)
{
	bool passes = conn->gate_open || conn->passed > 0 || conn->sniff.longer;
	struct egress_queue *idle = egress_queues_silence(&conn->proxy->queues, passes);

	if (conn->deadline.at < egress_loop_now(conn->proxy->loop) + idle->ms - TOUCH_MS)
		egress_deadline_set(conn->proxy->loop, idle, &conn->deadline);
}

/* Returns whether the client's first bytes are due: some have arrived, or the server has sent
 * first. */
static bool is_greeting(const struct egress_conn *conn)
{
	return !conn->gate_open && (conn->in.len > 0 || conn->server_first) && conn->passed == 0;
}

/* Returns whether the origin's bytes wait until the client has sent. */
static bool holds_origin(const struct egress_conn *conn)
{
	return !conn->gate_open && conn->retry == EGRESS_RETRY_NONE && !conn->server_ssh &&
	       egress_sniff_is_web(conn->route.target.port);
}

/* Returns whether the client's bytes wait for an answer of the origin. */
static bool waits(const struct egress_conn *conn)
{
	return conn->retry >= EGRESS_RETRY_WAIT;
}

/* Copies up to len bytes that the origin has sent, without consuming them. Returns like recv(2). */
static ssize_t peek(struct egress_conn *conn, char *bytes, size_t len)
{
	struct koda_span early = egress_input_span(&conn->early);
	ssize_t n;

	if (early.len > 0) {
		len = early.len < len ? early.len : len;
		memcpy(bytes, early.ptr, len);
		return (ssize_t)len;
	}
	n = recv(conn->origin.fd, bytes, len, MSG_PEEK);
	if (n < 0 && errno == EAGAIN)
		conn->down.readable = false;
	return n;
}

/* Checks the origin's first bytes for an SSH identification line. Returns false if they are not
 * one; the connection has ended then. */
static bool look_for_ident(struct egress_conn *conn)
{
	char bytes[EGRESS_IDENT_BEGIN];
	ssize_t n = peek(conn, bytes, sizeof(bytes));
	bool dry = n < 0 && errno == EAGAIN;
	enum egress_ident ident = EGRESS_IDENT_MORE;

	if (n > 0)
		ident = egress_ident_server((struct koda_span){ bytes, (size_t)n });
	if (ident == EGRESS_IDENT_YES) {
		conn->retry = EGRESS_RETRY_NONE;
		return egress_gate_open(conn);
	}
	if (ident == EGRESS_IDENT_MORE && !conn->down.hung_up && (n > 0 || dry))
		return true;
	egress_gate_refuse_origin(conn);
	return false;
}

/* Checks the origin's answer to the first bytes that passed. Returns false if the connection has
 * ended or entered another phase. */
static bool look_for_retry(struct egress_conn *conn)
{
	if (conn->retry == EGRESS_RETRY_IDENT)
		return look_for_ident(conn);
	conn->retry = egress_hello_retry_look(conn);
	if (conn->retry == EGRESS_RETRY_NONE)
		return egress_gate_open(conn);
	if (conn->retry == EGRESS_RETRY_WAIT)
		return true;
	conn->scan.hello = (struct egress_hello_scan){ 0 };
	return conn->in.len == 0 || egress_gate_judge(conn);
}

/* Peeks at an origin that sends before the client. An SSH line may pass; anything else sets a
 * short deadline for the client. Returns false if the origin has closed; the connection has
 * ended then. */
static bool look_at_origin(struct egress_conn *conn)
{
	char bytes[EGRESS_IDENT_BEGIN];
	ssize_t n;

	if (conn->early.len == 0 && !conn->down.readable)
		return true;
	n = peek(conn, bytes, sizeof(bytes));
	if (n < 0 && errno == EAGAIN)
		return true;
	if (n <= 0) {
		egress_conn_finish(conn, n == 0 ? KODA_EGRESS_OK : KODA_EGRESS_RESET);
		return false;
	}
	if (!conn->server_first)
		egress_deadline_set(conn->proxy->loop, &conn->proxy->queues.head, &conn->deadline);
	conn->server_first = true;
	conn->server_ssh =
		egress_ident_server((struct koda_span){ bytes, (size_t)n }) == EGRESS_IDENT_YES;
	if (conn->server_ssh)
		egress_turn_wait(conn);
	return true;
}

static enum egress_flow_state run_down(struct egress_conn *conn)
{
	if (conn->early.len > 0 && egress_flow_adopt(&conn->down, &conn->early) < 0)
		return EGRESS_FLOW_BROKEN;
	conn->down.closes = conn->up.shut;
	return egress_flow_run(&conn->proxy->relay, &conn->down, conn->origin.fd, conn->client.fd);
}

static void go_on(struct egress_conn *conn)
{
	enum egress_flow_state down = EGRESS_FLOW_WAITS;
	enum egress_flow_state up = EGRESS_FLOW_WAITS;
	bool held;

	/* While the gate waits, no read or write would notice that the client is gone. */
	if (waits(conn) && conn->client_gone) {
		egress_conn_finish(conn, KODA_EGRESS_RESET);
		return;
	}
	if (waits(conn) && !look_for_retry(conn))
		return;
	held = holds_origin(conn);
	/* If both directions end, close(2) replaces the second shutdown(2). */
	if (!held && !waits(conn))
		down = run_down(conn);
	else if (egress_flow_flush(&conn->down, conn->client.fd) == EGRESS_FLOW_BROKEN)
		down = EGRESS_FLOW_BROKEN;
	if (!conn->gate_open && !egress_gate_fill(conn))
		return;
	if (held && conn->gate_open)
		down = run_down(conn);
	else if (held && conn->retry == EGRESS_RETRY_NONE && !look_at_origin(conn))
		return;
	conn->up.closes = conn->down.shut;
	if (conn->gate_open)
		up = egress_flow_run(&conn->proxy->relay, &conn->up, conn->client.fd,
				     conn->origin.fd);
	else if (egress_flow_flush(&conn->up, conn->origin.fd) == EGRESS_FLOW_BROKEN)
		up = EGRESS_FLOW_BROKEN;
	if (!is_greeting(conn))
		touch(conn);
	if (up == EGRESS_FLOW_BROKEN || down == EGRESS_FLOW_BROKEN)
		egress_conn_finish(conn, KODA_EGRESS_RESET);
	else if (up == EGRESS_FLOW_DONE && down == EGRESS_FLOW_DONE)
		egress_conn_finish(conn, KODA_EGRESS_OK);
	else if (up == EGRESS_FLOW_GOES_ON || down == EGRESS_FLOW_GOES_ON)
		egress_turn_wait(conn);
}

static void on_late(struct egress_conn *conn)
{
	egress_conn_finish(conn, is_greeting(conn) ? KODA_EGRESS_CLIENT_TIMEOUT : KODA_EGRESS_IDLE);
}

static void abandon(struct egress_conn *conn, enum koda_egress_reason reason)
{
	egress_conn_report(conn, reason);
}

static bool has_target(const struct egress_conn *conn)
{
	(void)conn;
	return true;
}

static void begin(struct egress_conn *conn)
{
	conn->scan.hello = (struct egress_hello_scan){ 0 };
	conn->sniff = (struct egress_sniff_scan){ 0 };
	egress_deadline_set(conn->proxy->loop,
			    egress_queues_silence(&conn->proxy->queues, conn->gate_open),
			    &conn->deadline);
	if (conn->in.len > 0 && !conn->gate_open) {
		if (!egress_gate_judge(conn))
			return;
		if (is_greeting(conn))
			egress_deadline_set(conn->proxy->loop, &conn->proxy->queues.head,
					    &conn->deadline);
	}
	go_on(conn);
}

const struct egress_conn_phase egress_tunnel_phase = {
	.begin = begin,
	.client = egress_turn_wait,
	.origin = egress_turn_wait,
	.late = on_late,
	.turn = go_on,
	.abandon = abandon,
	.has_target = has_target,
};
