/* SPDX-License-Identifier: MIT */
/*
 * T-83. The phase before TLS is terminated. Signing a certificate takes longer than anything else
 * in the proxy, so the connection waits for its turn.
 */
#include "conn/conn_report.h"
#include "conn/termination_state.h"
#include "conn/turn.h"

/* Returns the host that the certificate is for. A connection to an address may have named one. */
static const struct koda_host *host_of(const struct egress_conn *conn)
{
	const struct egress_route_record *route = &conn->route;

	return route->named ? &route->named->host : &route->target.host;
}

static int make_state(struct egress_conn *conn, struct egress_termination **ret_state)
{
	struct egress_termination *state;
	int r;

	if (!egress_budget_affords(&conn->tenant->budget, 0, EGRESS_TERMINATE_BASE))
		return KODA_E_NOMEM;
	state = calloc(1, sizeof(*state));
	if (!state)
		return KODA_E_NOMEM;
	r = egress_terminate_new(conn->tenant->tls, conn->proxy->tls, host_of(conn),
				 conn->route.target.port, time(NULL), &state->t, NULL);
	if (r == KODA_OK)
		r = egress_terminate_connected(state->t, NULL);
	if (r == KODA_OK) {
		*ret_state = state;
		return KODA_OK;
	}
	egress_terminate_free(state->t);
	free(state);
	return r;
}

static void start(struct egress_conn *conn)
{
	struct egress_termination *state = NULL;
	int r = make_state(conn, &state);

	if (r < 0) {
		egress_conn_report(conn, r == KODA_E_NOMEM ? KODA_EGRESS_NO_MEMORY
							   : KODA_EGRESS_TLS_FAILED);
		egress_conn_break(conn);
		return;
	}
	conn->state = state;
	egress_termination_enter(conn);
}

static void on_news(struct egress_conn *conn)
{
	if (conn->client_gone)
		egress_conn_finish(conn, KODA_EGRESS_RESET);
}

/* The tenant starts more handshakes than it gets turns. */
static void on_late(struct egress_conn *conn)
{
	egress_conn_finish(conn, KODA_EGRESS_LIMIT);
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
	egress_deadline_set(conn->proxy->loop, &conn->proxy->queues.head, &conn->deadline);
	egress_turn_wait(conn);
}

const struct egress_conn_phase egress_termination_phase = {
	.begin = begin,
	.client = on_news,
	.origin = on_news,
	.late = on_late,
	.turn = start,
	.abandon = abandon,
	.has_target = has_target,
};
