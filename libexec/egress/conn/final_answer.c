/* SPDX-License-Identifier: MIT */
/*
 * Closing the socket while the client still sends would cause RST, and the client might lose the
 * answer. So this phase calls shutdown(2), reads for a moment, and then closes.
 */
#include "conn/final_answer.h"

#include "conn/turn.h"

#include <errno.h>
#include <sys/socket.h>

static void drain(struct egress_conn *conn)
{
	/* A client that keeps sending is cut off at the deadline; four reads a turn do not delay
	 * others. */
	for (int i = 0; i < 4; i++) {
		ssize_t n = recv(conn->client.fd, conn->proxy->relay.scratch, EGRESS_SCRATCH, 0);

		if (n == 0 || (n < 0 && errno != EAGAIN)) {
			egress_conn_end(conn);
			return;
		}
		if (n < 0)
			return;
	}
	egress_turn_wait(conn);
}

static void go_on(struct egress_conn *conn)
{
	switch (egress_flow_flush(&conn->down, conn->client.fd)) {
	case EGRESS_FLOW_DONE:
		if (!conn->down.shut) {
			(void)shutdown(conn->client.fd, SHUT_WR);
			egress_deadline_set(conn->proxy->loop, &conn->proxy->queues.linger,
					    &conn->deadline);
		}
		conn->down.shut = true;
		drain(conn);
		break;
	case EGRESS_FLOW_WAITS:
	case EGRESS_FLOW_GOES_ON:
		/* The end of a long response; a slow client gets all of it. */
		egress_deadline_set(conn->proxy->loop, &conn->proxy->queues.idle, &conn->deadline);
		break;
	case EGRESS_FLOW_BROKEN:
		egress_conn_end(conn);
		break;
	}
}

static void on_late(struct egress_conn *conn)
{
	egress_conn_end(conn);
}

static void abandon(struct egress_conn *conn, enum koda_egress_reason reason)
{
	(void)conn;
	(void)reason;
}

static const struct egress_conn_phase last = {
	.client = egress_turn_wait,
	.origin = egress_turn_wait,
	.late = on_late,
	.turn = go_on,
	.abandon = abandon,
};

void egress_final_answer_begin(struct egress_conn *conn, struct koda_span bytes)
{
	conn->phase = &last;
	egress_conn_drop_origin(conn);
	egress_input_clear(&conn->in);
	if (egress_flow_send(&conn->down, conn->client.fd, bytes.ptr, bytes.len) < 0)
		egress_conn_end(conn);
	else
		go_on(conn);
}
