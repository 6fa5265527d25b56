/* SPDX-License-Identifier: MIT */
/*
 * The first bytes show the protocol: 5 is SOCKS, "CONNECT " a tunnel, anything else plain HTTP.
 * Most clients send CONNECT in one piece, which is parsed in the shared buffer and never copied.
 */
#include "conn/conn_report.h"
#include "conn/final_answer.h"
#include "conn/refuse.h"
#include "conn/turn.h"
#include "proto/answer.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

static const char connect_word[] = "CONNECT ";
#define CONNECT_WORD (sizeof(connect_word) - 1)

static void ended(struct egress_conn *conn, enum koda_egress_reason reason)
{
	/* A client that sent nothing causes no event. */
	if (conn->in.len > 0)
		egress_conn_report(conn, reason);
	egress_conn_end(conn);
}

static void refuse_head(struct egress_conn *conn, const struct egress_refusal *why)
{
	enum koda_egress_reason reason =
		why->status == 431 ? KODA_EGRESS_HEAD_TOO_LARGE : KODA_EGRESS_BAD_REQUEST;
	struct koda_egress_message event = { .status = (uint16_t)why->status };
	char answer[EGRESS_ANSWER_MAX];
	size_t len = egress_answer(why, koda_span_of(""), false, answer);

	EGRESS_REPORT_TEXT(event.method, koda_span_of("CONNECT"));
	if (why->text)
		EGRESS_REPORT_TEXT(event.text, koda_span_of(why->text));
	egress_conn_report_as(conn, reason, &event);
	egress_final_answer_begin(conn, (struct koda_span){ answer, len });
}

/* Parses bytes, which begin with "CONNECT ". Returns false if more bytes are needed. */
static bool try_connect(struct egress_conn *conn, struct koda_span bytes)
{
	struct egress_head *head = &conn->proxy->head;
	struct egress_refusal why;
	size_t len = 0;
	enum egress_parse found = egress_head_find(&conn->scan.head, bytes, &len, &why);
	bool held = bytes.ptr == conn->in.bytes + conn->in.at;

	if (found == EGRESS_MORE)
		return false;
	if (found == EGRESS_BAD ||
	    !egress_head_request((struct koda_span){ bytes.ptr, len }, head, &why)) {
		refuse_head(conn, &why);
		return true;
	}
	if (egress_route_record_set(&conn->route, &head->host, head->port) < 0) {
		egress_refuse(conn, KODA_EGRESS_BAD_REQUEST);
		return true;
	}
	/* Early data, which the client sent before the proxy's answer. */
	if (held)
		egress_input_take(&conn->in, len);
	else if (egress_input_add(&conn->in, bytes.ptr + len, bytes.len - len) < 0) {
		ended(conn, KODA_EGRESS_NO_MEMORY);
		return true;
	}
	egress_conn_enter(conn, EGRESS_PHASE_CONNECT);
	return true;
}

/* Refuses SOCKS 4, which knows addresses only: rules are about names. */
static void refuse_socks4(struct egress_conn *conn)
{
	struct koda_egress_message event = { 0 };

	EGRESS_REPORT_TEXT(event.text, koda_span_of("SOCKS 4 is not served, SOCKS 5 is"));
	egress_conn_report_as(conn, KODA_EGRESS_BAD_REQUEST, &event);
	egress_final_answer_begin(conn, (struct koda_span){ "\0\x5b\0\0\0\0\0\0", 8 });
}

/* Identifies the protocol. Returns false if more bytes are needed; the caller keeps these. */
static bool look(struct egress_conn *conn, struct koda_span bytes)
{
	size_t known = bytes.len < CONNECT_WORD ? bytes.len : CONNECT_WORD;

	if (memcmp(bytes.ptr, connect_word, known) == 0)
		return known == CONNECT_WORD && try_connect(conn, bytes);
	if (bytes.ptr != conn->in.bytes + conn->in.at &&
	    egress_input_add(&conn->in, bytes.ptr, bytes.len) < 0) {
		ended(conn, KODA_EGRESS_NO_MEMORY);
		return true;
	}
	if (conn->in.bytes[conn->in.at] == 5)
		egress_conn_enter(conn, EGRESS_PHASE_SOCKS);
	else if (conn->in.bytes[conn->in.at] == 4)
		refuse_socks4(conn);
	else
		egress_conn_enter(conn, EGRESS_PHASE_HTTP);
	return true;
}

/* Reads into the shared buffer. */
static void read_first(struct egress_conn *conn)
{
	char *scratch = conn->proxy->relay.scratch;
	size_t most = egress_budget_most(conn->in.budget, 0, EGRESS_SCRATCH);
	ssize_t n = recv(conn->client.fd, scratch, most, 0);

	/* A short read means that the socket is empty, unless EPOLLRDHUP was seen. */
	if (n < (ssize_t)most)
		conn->up.readable = conn->up.hung_up && n > 0;
	if (n < 0 && errno == EAGAIN)
		return;
	if (n <= 0) {
		ended(conn, KODA_EGRESS_RESET);
	} else if (!look(conn, (struct koda_span){ scratch, (size_t)n }) &&
		   egress_input_add(&conn->in, scratch, (size_t)n) < 0) {
		ended(conn, KODA_EGRESS_NO_MEMORY);
	}
}

static void on_client(struct egress_conn *conn)
{
	const struct egress_conn_phase *phase = conn->phase;

	while (conn->up.readable) {
		if (conn->in.len == 0) {
			read_first(conn);
			if (conn->phase != phase || conn->client.fd < 0)
				return;
			continue;
		}
		switch (egress_input_fill(&conn->in, conn->client.fd, EGRESS_HEAD_MAX + 1)) {
		case EGRESS_INPUT_DRY:
			conn->up.readable = false;
			return;
		case EGRESS_INPUT_GOT:
			if (look(conn, egress_input_span(&conn->in)))
				return;
			break;
		case EGRESS_INPUT_END:
		case EGRESS_INPUT_FULL:
			ended(conn, KODA_EGRESS_BAD_REQUEST);
			return;
		case EGRESS_INPUT_POOR:
			ended(conn, KODA_EGRESS_NO_MEMORY);
			return;
		case EGRESS_INPUT_BROKEN:
			ended(conn, KODA_EGRESS_RESET);
			return;
		}
	}
}

static void on_late(struct egress_conn *conn)
{
	if (conn->in.len == 0) {
		egress_conn_end(conn);
		return;
	}
	egress_refuse(conn, KODA_EGRESS_CLIENT_TIMEOUT);
}

static void abandon(struct egress_conn *conn, enum koda_egress_reason reason)
{
	(void)conn;
	(void)reason;
}

static void begin(struct egress_conn *conn)
{
	egress_deadline_set(conn->proxy->loop, &conn->proxy->queues.head, &conn->deadline);
	/* Under load the request has often arrived already. Connections that ended before free
	 * their memory first. */
	conn->up.readable = true;
	egress_turn_wait(conn);
}

const struct egress_conn_phase egress_greeting_phase = {
	.begin = begin,
	.client = egress_turn_wait,
	.turn = on_client,
	.late = on_late,
	.abandon = abandon,
};
