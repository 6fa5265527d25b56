/* SPDX-License-Identifier: MIT */
/* T-72. Does a ClientHello ask for where the tunnel was allowed to go, and is it answered here? */
#include "conn.h"
#include "intercept.h"

/* A connection to an address may name a host if the rules would have let it through by name, and
 * if it would have gone the same way. The name counts from then on. */
static bool name_fits_address(struct koda_conn *conn, const struct koda_target *named)
{
	const char *socket_path;

	if (!koda_conn_name_fits(conn, conn->deal.ruleset->rules, named) ||
	    koda_intercept_host(conn->tenant->intercept, &named->host, named->port, &socket_path) ==
		    KODA_INTERCEPT_SOCKET)
		return false;
	/* In a second hello it is the same one again. */
	if (conn->deal.named)
		return koda_target_equal(conn->deal.named, named);
	conn->deal.named = malloc(sizeof(*named));
	if (conn->deal.named)
		*conn->deal.named = *named;
	return conn->deal.named != NULL;
}

bool koda_sni_fits(struct koda_conn *conn, const struct egress_hello *hello)
{
	const struct koda_target *target = &conn->deal.target;
	struct koda_target named;

	if (!hello->has_name)
		return target->host.is_addr;
	if (koda_target_set(&named, (struct koda_span){ hello->name, hello->name_len },
			    target->port, NULL) < 0)
		return false;
	if (koda_target_equal(&named, target))
		return true;
	return target->host.is_addr && name_fits_address(conn, &named);
}

static enum koda_intercept_way way_of(const struct koda_conn *conn,
				      const struct koda_target *target)
{
	const char *socket_path;

	return koda_intercept_host(conn->tenant->intercept, &target->host, target->port,
				   &socket_path);
}

/* An address that is spared does not spare the names behind it. */
bool koda_terminated_wanted(const struct koda_conn *conn)
{
	enum koda_intercept_way way = way_of(conn, &conn->deal.target);

	if (way == KODA_INTERCEPT_NOT && conn->deal.named)
		way = way_of(conn, conn->deal.named);
	return way == KODA_INTERCEPT_TERMINATE;
}
