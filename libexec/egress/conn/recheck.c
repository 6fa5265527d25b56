/* SPDX-License-Identifier: MIT */
#include "conn/recheck.h"

#include "conn/reach.h"
#include "tls/intercept.h"

bool egress_recheck_name(struct egress_conn *conn, const struct koda_rules *rules,
			 const struct egress_target *named)
{
	return egress_decide_host(rules, named).reason == KODA_EGRESS_OK &&
	       (conn->route.upstream || egress_decide_address(rules, &conn->proxy->host_addrs,
							      named, false, &conn->route.addr)
							.reason == KODA_EGRESS_OK);
}

static bool is_mapped(const struct egress_conn *conn, const struct egress_target *target)
{
	const char *path;

	return egress_intercept_host(conn->tenant->intercept, &target->host, target->port, &path) ==
	       EGRESS_INTERCEPT_SOCKET;
}

/* Returns whether socket_map would choose the proxy, or none, that the connection uses. */
static bool keeps_proxy(const struct egress_conn *conn)
{
	const struct egress_route_record *route = &conn->route;

	if (route->named && is_mapped(conn, route->named))
		return false;
	return egress_route_record_is_socket(route) == is_mapped(conn, &route->target);
}

bool egress_recheck_conn(struct egress_conn *conn, struct egress_ruleset *ruleset)
{
	struct egress_route_record *route = &conn->route;
	struct egress_decision now;

	if (!conn->phase->has_target || !conn->phase->has_target(conn))
		return true;
	if (!keeps_proxy(conn))
		return false;
	now = egress_decide_host(ruleset->rules, &route->target);
	/* The user's answer stays valid until a rule covers the host. */
	if (now.reason == KODA_EGRESS_NOT_LISTED && route->user_allowed)
		now = route->decision = (struct egress_decision){ .rule = koda_span_of("asked") };
	if (now.reason == KODA_EGRESS_OK && !route->upstream && route->addr.family != 0)
		now = egress_decide_address(ruleset->rules, &conn->proxy->host_addrs,
					    &route->target, route->user_allowed, &route->addr);
	/* reach.c does not check this for a proxy of socket_map either. */
	else if (now.reason == KODA_EGRESS_OK && route->upstream &&
		 !egress_route_record_is_socket(route))
		(void)egress_decide_unresolved(ruleset->rules, &conn->proxy->host_addrs,
					       &route->target, route->user_allowed, &now);
	if (route->named && !egress_recheck_name(conn, ruleset->rules, route->named))
		return false;
	if (now.reason == KODA_EGRESS_OK) {
		egress_ruleset_unref(route->ruleset);
		route->ruleset = egress_ruleset_ref(ruleset);
		route->decision = now;
		egress_reach_judge_again(conn);
	}
	return now.reason == KODA_EGRESS_OK;
}
