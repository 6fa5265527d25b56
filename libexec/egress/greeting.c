/* SPDX-License-Identifier: MIT */
/*
 * The first bytes tell which protocol it is: 5 is SOCKS, "CONNECT " a tunnel, everything else
 * plain HTTP. Most clients send a whole CONNECT in one piece; that is read in the shared buffer and
 * nothing is kept of it.
 */
#include "conn.h"
#include "reason.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

static const char connect_word[] = "CONNECT ";
#define CONNECT_WORD (sizeof(connect_word) - 1)

static void ended(struct koda_conn *conn, enum koda_egress_reason reason)
{
	/* Who never said anything is not worth an event. */
	if (conn->in.len > 0)
		koda_conn_report(conn, reason);
	koda_conn_end(conn);
}

static void refuse_head(struct koda_conn *conn, const struct egress_refusal *why)
{
	enum koda_egress_reason reason =
		why->status == 431 ? KODA_EGRESS_HEAD_TOO_LARGE : KODA_EGRESS_BAD_REQUEST;
	struct koda_egress_message event = { .status = (uint16_t)why->status };
	char answer[EGRESS_ANSWER_MAX];
	size_t len = egress_answer(why, koda_span_of(""), false, answer);

	KODA_REPORT_TEXT(event.method, koda_span_of("CONNECT"));
	if (why->text)
		KODA_REPORT_TEXT(event.text, koda_span_of(why->text));
	koda_conn_report_as(conn, reason, &event);
	koda_last_begin(conn, (struct koda_span){ answer, len });
}

/* bytes begins with "CONNECT ". False: more is needed. */
static bool try_connect(struct koda_conn *conn, struct koda_span bytes)
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
	if (koda_deal_set(conn, &head->host, head->port) < 0) {
		koda_conn_refuse(conn, KODA_EGRESS_BAD_REQUEST);
		return true;
	}
	/* Early data: what the client sent without waiting for our answer. */
	if (held)
		koda_input_take(&conn->in, len);
	else if (koda_input_add(&conn->in, bytes.ptr + len, bytes.len - len) < 0) {
		ended(conn, KODA_EGRESS_NO_MEMORY);
		return true;
	}
	koda_connect_begin(conn);
	return true;
}

/* The version before ours knows no names, so there is nothing to decide by. */
static void refuse_socks4(struct koda_conn *conn)
{
	struct koda_egress_message event = { 0 };

	KODA_REPORT_TEXT(event.text, koda_span_of("SOCKS 4 is not served, SOCKS 5 is"));
	koda_conn_report_as(conn, KODA_EGRESS_BAD_REQUEST, &event);
	koda_last_begin(conn, (struct koda_span){ "\0\x5b\0\0\0\0\0\0", 8 });
}

/* False: more is needed, and the bytes have to be kept. */
static bool look(struct koda_conn *conn, struct koda_span bytes)
{
	size_t known = bytes.len < CONNECT_WORD ? bytes.len : CONNECT_WORD;

	if (memcmp(bytes.ptr, connect_word, known) == 0)
		return known == CONNECT_WORD && try_connect(conn, bytes);
	if (bytes.ptr != conn->in.bytes + conn->in.at &&
	    koda_input_add(&conn->in, bytes.ptr, bytes.len) < 0) {
		ended(conn, KODA_EGRESS_NO_MEMORY);
		return true;
	}
	if (conn->in.bytes[conn->in.at] == 5)
		koda_socks_begin(conn);
	else if (conn->in.bytes[conn->in.at] == 4)
		refuse_socks4(conn);
	else
		koda_http_begin(conn);
	return true;
}

/* The first read goes to the shared buffer. */
static void read_first(struct koda_conn *conn)
{
	char *scratch = conn->proxy->relay.scratch;
	size_t most = koda_budget_most(conn->in.budget, 0, KODA_SCRATCH);
	ssize_t n = recv(conn->client.fd, scratch, most, 0);

	/* A short read has emptied the socket, unless its end is near. */
	if (n < (ssize_t)most)
		conn->up.readable = conn->up.hung_up && n > 0;
	if (n < 0 && errno == EAGAIN)
		return;
	if (n <= 0) {
		ended(conn, KODA_EGRESS_RESET);
	} else if (!look(conn, (struct koda_span){ scratch, (size_t)n }) &&
		   koda_input_add(&conn->in, scratch, (size_t)n) < 0) {
		ended(conn, KODA_EGRESS_NO_MEMORY);
	}
}

static void on_client(struct koda_conn *conn)
{
	const struct koda_phase *phase = conn->phase;

	while (conn->up.readable) {
		if (conn->in.len == 0) {
			read_first(conn);
			if (conn->phase != phase || conn->client.fd < 0)
				return;
			continue;
		}
		switch (koda_input_fill(&conn->in, conn->client.fd, EGRESS_HEAD_MAX + 1)) {
		case KODA_INPUT_DRY:
			conn->up.readable = false;
			return;
		case KODA_INPUT_GOT:
			if (look(conn, koda_input_span(&conn->in)))
				return;
			break;
		case KODA_INPUT_END:
		case KODA_INPUT_FULL:
			ended(conn, KODA_EGRESS_BAD_REQUEST);
			return;
		case KODA_INPUT_POOR:
			ended(conn, KODA_EGRESS_NO_MEMORY);
			return;
		case KODA_INPUT_BROKEN:
			ended(conn, KODA_EGRESS_RESET);
			return;
		}
	}
}

static void on_late(struct koda_conn *conn)
{
	if (conn->in.len == 0) {
		koda_conn_end(conn);
		return;
	}
	koda_conn_refuse(conn, KODA_EGRESS_CLIENT_TIMEOUT);
}

static void abandon(struct koda_conn *conn, enum koda_egress_reason reason)
{
	(void)conn;
	(void)reason;
}

static const struct koda_phase greeting = {
	.client = on_client,
	.late = on_late,
	.abandon = abandon,
};

void koda_greeting_begin(struct koda_conn *conn)
{
	conn->phase = &greeting;
	koda_deadline_set(conn->proxy->loop, &conn->proxy->queues.head, &conn->deadline);
	/* Under load the request is often there already. */
	conn->up.readable = true;
	on_client(conn);
}
