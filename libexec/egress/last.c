/* SPDX-License-Identifier: MIT */
/*
 * The last answer. Closing while the client still sends would reset the connection, and it might
 * never see what we said; so we say that we are done, read on for a moment, and then close.
 */
#include "conn.h"

#include <errno.h>
#include <sys/socket.h>

static void drain(struct koda_conn *conn)
{
	/* Whoever keeps sending is cut off at the deadline, and this is no way to hold others up.
	 */
	for (int i = 0; i < 4; i++) {
		ssize_t n = recv(conn->client.fd, conn->proxy->relay.scratch, KODA_SCRATCH, 0);

		if (n == 0 || (n < 0 && errno != EAGAIN)) {
			koda_conn_end(conn);
			return;
		}
		if (n < 0)
			return;
	}
	koda_conn_go_on(conn);
}

static void go_on(struct koda_conn *conn)
{
	switch (koda_flow_flush(&conn->down, conn->client.fd)) {
	case KODA_FLOW_DONE:
		if (!conn->down.shut) {
			(void)shutdown(conn->client.fd, SHUT_WR);
			koda_deadline_set(conn->proxy->loop, &conn->proxy->queues.linger,
					  &conn->deadline);
		}
		conn->down.shut = true;
		drain(conn);
		break;
	case KODA_FLOW_WAITS:
	case KODA_FLOW_GOES_ON:
		/* The end of a long response; a slow reader gets it all. */
		koda_deadline_set(conn->proxy->loop, &conn->proxy->queues.idle, &conn->deadline);
		break;
	case KODA_FLOW_BROKEN:
		koda_conn_end(conn);
		break;
	}
}

static void on_late(struct koda_conn *conn)
{
	koda_conn_end(conn);
}

static void abandon(struct koda_conn *conn, enum koda_egress_reason reason)
{
	(void)conn;
	(void)reason;
}

static const struct koda_phase last = {
	.client = go_on,
	.origin = go_on,
	.late = on_late,
	.go_on = go_on,
	.abandon = abandon,
};

void koda_last_begin(struct koda_conn *conn, struct koda_span bytes)
{
	conn->phase = &last;
	koda_conn_drop_origin(conn);
	koda_input_clear(&conn->in);
	if (koda_flow_send(&conn->down, conn->client.fd, bytes.ptr, bytes.len) < 0)
		koda_conn_end(conn);
	else
		go_on(conn);
}
