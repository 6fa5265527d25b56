/* SPDX-License-Identifier: MIT */
#include "conn/http_conn.h"
#include "conn/refuse.h"

void egress_http_leave(struct egress_conn *conn)
{
	struct egress_http *http = KODA_TAKE(conn->state);

	egress_budget_move(&conn->tenant->budget, http->counted, 0);
	egress_exchange_free(http->x);
	egress_input_clear(&http->from_origin);
	free(http);
}

/* Bytes that were read before go first. */
void egress_http_leave_for_tunnel(struct egress_conn *conn)
{
	struct egress_http *http = conn->state;
	int r = egress_flow_adopt(&conn->up, &conn->in);

	if (r == KODA_OK)
		r = egress_flow_adopt(&conn->down, &http->from_origin);
	conn->up.ended = http->client_eof;
	conn->down.ended = http->origin_eof;
	conn->gate_open = true;
	egress_http_leave(conn);
	if (r < 0)
		egress_conn_break(conn);
	else
		egress_conn_enter(conn, EGRESS_PHASE_TUNNEL);
}

void egress_http_leave_for_connect(struct egress_conn *conn, const struct egress_request *request)
{
	int r;

	egress_http_route_drop(conn);
	r = egress_route_record_set(&conn->route, request->host, request->port);
	conn->began = egress_loop_now(conn->proxy->loop);
	conn->up.bytes = 0;
	egress_http_leave(conn);
	if (r < 0)
		egress_refuse(conn, KODA_EGRESS_BAD_REQUEST);
	else
		egress_conn_enter(conn, EGRESS_PHASE_CONNECT);
}
