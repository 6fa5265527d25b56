/* SPDX-License-Identifier: MIT */
#include "conn/sni.h"

#include "conn/recheck.h"
#include "tls/intercept.h"

/* Returns whether a connection to an address may name this host: the rules allow the name, and
 * socket_map does not list it. Keeps the name in conn->route. */
static bool name_fits_address(struct egress_conn *conn, const struct egress_target *named)
{
	const char *socket_path;

	if (!egress_recheck_name(conn, conn->route.ruleset->rules, named) ||
	    egress_intercept_host(conn->tenant->intercept, &named->host, named->port,
				  &socket_path) == EGRESS_INTERCEPT_SOCKET)
		return false;
	/* A second ClientHello must repeat the name of the first. */
	if (conn->route.named)
		return egress_target_equal(conn->route.named, named);
	conn->route.named = malloc(sizeof(*named));
	if (conn->route.named)
		*conn->route.named = *named;
	return conn->route.named != NULL;
}

bool egress_sni_fits(struct egress_conn *conn, const struct egress_hello *hello)
{
	const struct egress_target *target = &conn->route.target;
	struct egress_target named;

	if (!hello->has_name)
		return target->host.is_addr;
	if (egress_target_set(&named, (struct koda_span){ hello->name, hello->name_len },
			      target->port, NULL) < 0)
		return false;
	if (egress_target_equal(&named, target))
		return true;
	return target->host.is_addr && name_fits_address(conn, &named);
}

static enum egress_intercept_action action_for(const struct egress_conn *conn,
					       const struct egress_target *target)
{
	const char *socket_path;

	return egress_intercept_host(conn->tenant->intercept, &target->host, target->port,
				     &socket_path);
}

/* An address that is exempt from termination does not exempt the names behind it. */
bool egress_sni_is_terminated(const struct egress_conn *conn)
{
	enum egress_intercept_action action = action_for(conn, &conn->route.target);

	if (action == EGRESS_INTERCEPT_NOT && conn->route.named)
		action = action_for(conn, conn->route.named);
	return action == EGRESS_INTERCEPT_TERMINATE;
}
