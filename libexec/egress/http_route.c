/* SPDX-License-Identifier: MIT */
/* T-70. Where the requests of a connection go: each is decided by the rules that are in force. */
#include "http_conn.h"

#include "reach.h"

static void allow(struct koda_conn *conn, bool reused)
{
	struct koda_http *http = conn->state;
	const struct egress_proxy *via = conn->deal.via;
	/* In a tunnel the proxy after us has done its part. */
	struct egress_route route = { .via_proxy = via != NULL && !http->in_tunnel };

	if (route.via_proxy && via->auth)
		route.auth = koda_span_of(via->auth);
	http->used = true;
	egress_exchange_allowed(http->x, reused, &route);
}

static void on_reached(struct koda_conn *conn, enum koda_egress_reason reason)
{
	struct koda_http *http = conn->state;

	/* An answer to nothing. */
	if (reason == KODA_EGRESS_OK && conn->early.len > 0) {
		koda_http_drop_origin(conn);
		reason = KODA_EGRESS_UPSTREAM_FAILED;
	}
	if (reason == KODA_EGRESS_OK) {
		allow(conn, false);
	} else {
		struct egress_refusal why = koda_refusal(reason, conn->deal.decision.rule);

		egress_exchange_refused(http->x, &why);
	}
	koda_http_step(conn);
}

void koda_http_drop_origin(struct koda_conn *conn)
{
	struct koda_http *http = conn->state;

	koda_conn_drop_origin(conn);
	koda_input_clear(&http->from_origin);
	http->origin_eof = false;
	http->origin_broken = false;
	http->used = false;
}

void koda_http_reach(struct koda_conn *conn, const struct egress_request *request)
{
	struct koda_http *http = conn->state;
	struct koda_target target;

	http->began = koda_loop_now(conn->proxy->loop);
	if (!request->tls && koda_target_of(&target, request->host, request->port) == KODA_OK) {
		if (conn->origin.fd >= 0 && http->used && !request->retry &&
		    koda_target_equal(&target, &conn->deal.target) &&
		    koda_conn_fits(conn, conn->tenant->ruleset)) {
			allow(conn, true);
			return;
		}
		koda_http_drop_origin(conn);
		if (koda_deal_set(conn, request->host, request->port) == KODA_OK) {
			koda_reach_start(conn,
					 http->in_tunnel ? KODA_REACH_TUNNEL : KODA_REACH_PLAIN,
					 on_reached);
			return;
		}
	}
	egress_exchange_refused(http->x,
				&(struct egress_refusal){ .status = 400,
							  .code = "bad_request",
							  .text = "only http:// goes this way" });
}

/* What was read goes first. */
void koda_http_become_tunnel(struct koda_conn *conn)
{
	struct koda_http *http = conn->state;
	int r = koda_flow_adopt(&conn->up, &conn->in);

	if (r == KODA_OK)
		r = koda_flow_adopt(&conn->down, &http->from_origin);
	conn->up.ended = http->client_eof;
	conn->down.ended = http->origin_eof;
	conn->gate_open = true;
	koda_http_free(conn);
	if (r < 0)
		koda_conn_break(conn);
	else
		koda_tunnel_begin(conn);
}

void koda_http_become_connect(struct koda_conn *conn, const struct egress_request *request)
{
	int r;

	koda_http_drop_origin(conn);
	r = koda_deal_set(conn, request->host, request->port);
	conn->began = koda_loop_now(conn->proxy->loop);
	conn->up.bytes = 0;
	koda_http_free(conn);
	if (r < 0)
		koda_conn_refuse(conn, KODA_EGRESS_BAD_REQUEST);
	else
		koda_connect_begin(conn);
}
