/* SPDX-License-Identifier: MIT */
/* T-70. Decides where each request goes, by the rules in force. */
#include "conn/http_conn.h"

#include "conn/reach.h"
#include "conn/recheck.h"
#include "proto/reason.h"

static void allow(struct egress_conn *conn, bool reused)
{
	struct egress_http *http = conn->state;
	const struct egress_upstream_proxy *via = conn->route.upstream;
	/* A tunnel through an upstream proxy leads to the origin itself. */
	struct egress_route route = { .via_proxy = via != NULL && !http->in_tunnel };

	if (route.via_proxy && via->auth)
		route.auth = koda_span_of(via->auth);
	http->used = true;
	egress_exchange_allowed(http->x, reused, &route);
}

void egress_http_route_reached(struct egress_conn *conn, enum koda_egress_reason reason)
{
	struct egress_http *http = conn->state;

	/* The origin sent bytes before the request. */
	if (reason == KODA_EGRESS_OK && conn->early.len > 0) {
		egress_http_route_drop(conn);
		reason = KODA_EGRESS_UPSTREAM_FAILED;
	}
	if (reason == KODA_EGRESS_OK) {
		allow(conn, false);
	} else {
		struct egress_refusal why =
			egress_reason_refusal(reason, conn->route.decision.rule);

		egress_exchange_refused(http->x, &why);
	}
}

void egress_http_route_drop(struct egress_conn *conn)
{
	struct egress_http *http = conn->state;

	egress_conn_drop_origin(conn);
	egress_input_clear(&http->from_origin);
	http->origin_eof = false;
	http->origin_broken = false;
	http->used = false;
}

void egress_http_route_start(struct egress_conn *conn, const struct egress_request *request,
			     void (*done)(struct egress_conn *conn, enum koda_egress_reason reason))
{
	struct egress_http *http = conn->state;
	struct egress_target target;

	http->began = egress_loop_now(conn->proxy->loop);
	if (!request->tls && egress_target_of(&target, request->host, request->port) == KODA_OK) {
		if (conn->origin.fd >= 0 && http->used && !request->retry &&
		    egress_target_equal(&target, &conn->route.target) &&
		    egress_recheck_conn(conn, conn->tenant->ruleset)) {
			allow(conn, true);
			return;
		}
		egress_http_route_drop(conn);
		if (egress_route_record_set(&conn->route, request->host, request->port) ==
		    KODA_OK) {
			egress_reach_start(
				conn, http->in_tunnel ? EGRESS_REACH_TUNNEL : EGRESS_REACH_PLAIN,
				done);
			return;
		}
	}
	egress_exchange_refused(http->x, &(struct egress_refusal){
						 .status = 400,
						 .code = "bad_request",
						 .text = "only http:// URLs can be requested so" });
}
