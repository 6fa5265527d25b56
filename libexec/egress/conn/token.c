/* SPDX-License-Identifier: MIT */
/*
 * T-37. A listener outside a network namespace of its own can be reached by every process of the
 * machine. Connections to it begin with a token that only the sandbox's supervisor knows. Others
 * are reset and reported. This phase reads no byte after the token.
 *
 * It compares only when all bytes have arrived: an answer to a prefix would reveal whether the
 * prefix is right, and so the token byte by byte.
 */
#include "conn/conn_report.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

/* Compares in constant time, so that timing does not reveal the first difference. */
static bool is_equal(const char *a, const char *b, size_t len)
{
	unsigned char differs = 0;

	for (size_t i = 0; i < len; i++)
		differs |= (unsigned char)(a[i] ^ b[i]);
	return differs == 0;
}

static void refuse(struct egress_conn *conn)
{
	egress_conn_report(conn, KODA_EGRESS_NO_TOKEN);
	egress_conn_break(conn);
}

static void on_client(struct egress_conn *conn)
{
	size_t len = strlen(conn->tenant->token);
	char bytes[KODA_EGRESS_TOKEN_MAX];
	ssize_t n;

	if (!conn->up.readable)
		return;
	/* MSG_PEEK: mostly the whole token has arrived, and a part needs no buffer. */
	n = recv(conn->client.fd, bytes, len, MSG_PEEK);
	if (n < 0 && errno == EAGAIN) {
		conn->up.readable = false;
		return;
	}
	if (n > 0 && (size_t)n < len && !conn->up.hung_up) {
		conn->up.readable = false; /* a further byte causes an epoll event */
		return;
	}
	if (n != (ssize_t)len || !is_equal(bytes, conn->tenant->token, len) ||
	    recv(conn->client.fd, bytes, len, 0) != (ssize_t)len) {
		refuse(conn);
		return;
	}
	egress_conn_enter(conn, EGRESS_PHASE_GREETING);
}

static void on_late(struct egress_conn *conn)
{
	refuse(conn);
}

static void abandon(struct egress_conn *conn, enum koda_egress_reason reason)
{
	(void)conn;
	(void)reason;
}

static void begin(struct egress_conn *conn)
{
	egress_deadline_set(conn->proxy->loop, &conn->proxy->queues.head, &conn->deadline);
	conn->up.readable = true;
	on_client(conn);
}

const struct egress_conn_phase egress_token_phase = {
	.begin = begin,
	.client = on_client,
	.late = on_late,
	.abandon = abandon,
};
