/* SPDX-License-Identifier: MIT */
/*
 * T-37. A listener that is not in a network of its own can be found by anybody on the machine. Its
 * tenant's connections begin with a token that only the sandbox's supervisor knows; whatever begins
 * otherwise is broken off and told of. Nothing behind the token is read here.
 *
 * Nothing is compared before all of it is there: an answer to a part of it would tell whether that
 * part is right, and so give the token away digit by digit.
 */
#include "conn.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

/* Where the first difference is takes no time to find out. */
static bool is_equal(const char *a, const char *b, size_t len)
{
	unsigned char differs = 0;

	for (size_t i = 0; i < len; i++)
		differs |= (unsigned char)(a[i] ^ b[i]);
	return differs == 0;
}

static void refuse(struct koda_conn *conn)
{
	koda_conn_report(conn, KODA_EGRESS_NO_TOKEN);
	koda_conn_break(conn);
}

static void on_client(struct koda_conn *conn)
{
	size_t len = strlen(conn->tenant->token);
	char bytes[KODA_EGRESS_TOKEN_MAX];
	ssize_t n;

	if (!conn->up.readable)
		return;
	/* A look first: most often it is all there, and else nothing has to be kept. */
	n = recv(conn->client.fd, bytes, len, MSG_PEEK);
	if (n < 0 && errno == EAGAIN) {
		conn->up.readable = false;
		return;
	}
	if (n > 0 && (size_t)n < len && !conn->up.hung_up) {
		conn->up.readable = false; /* what follows is news */
		return;
	}
	if (n != (ssize_t)len || !is_equal(bytes, conn->tenant->token, len) ||
	    recv(conn->client.fd, bytes, len, 0) != (ssize_t)len) {
		refuse(conn);
		return;
	}
	koda_greeting_begin(conn);
}

static void on_late(struct koda_conn *conn)
{
	refuse(conn);
}

static void abandon(struct koda_conn *conn, enum koda_egress_reason reason)
{
	(void)conn;
	(void)reason;
}

static const struct koda_phase token = {
	.client = on_client,
	.late = on_late,
	.abandon = abandon,
};

void koda_token_begin(struct koda_conn *conn)
{
	conn->phase = &token;
	koda_deadline_set(conn->proxy->loop, &conn->proxy->queues.head, &conn->deadline);
	conn->up.readable = true;
	on_client(conn);
}
