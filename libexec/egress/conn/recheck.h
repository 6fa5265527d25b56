/* SPDX-License-Identifier: MIT */
/* Checks established connections against rules again. */
#ifndef KODA_EGRESS_CONN_RECHECK_H
#define KODA_EGRESS_CONN_RECHECK_H

#include "conn/conn.h"

/* Returns whether these rules allow the connection's target. If so, the connection continues under
 * them, and addresses not tried yet are checked again. */
bool egress_recheck_conn(struct egress_conn *conn, struct egress_ruleset *ruleset);
/* Returns whether a connection to an address may name this host: only if the rules would have
 * allowed the connection by that name. */
bool egress_recheck_name(struct egress_conn *conn, const struct koda_rules *rules,
			 const struct egress_target *named);

#endif
