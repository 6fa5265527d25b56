/* SPDX-License-Identifier: MIT */
/* Where a connection or a request goes, and which rule allows it. */
#ifndef KODA_EGRESS_ROUTE_RECORD_H
#define KODA_EGRESS_ROUTE_RECORD_H

#include "proto/upstream.h"
#include "route/decide.h"
#include "route/ruleset.h"

struct egress_route_record {
	struct egress_target target;
	struct egress_target *named;     /* owned: host named by TLS to an address, or NULL */
	struct egress_ruleset *ruleset;  /* a reference; decision.rule points into it */
	struct egress_decision decision; /* the latest one */
	struct koda_addr addr;           /* connected to, or tried last; family 0: none */
	const struct egress_upstream_proxy *upstream; /* that leads there, or NULL */
	bool user_allowed;                            /* the user was asked and allowed it */
	int sys_errno;                                /* of the last connect(2) that failed */
};

/* Sets the target and clears everything else. Fails: POLICY (port 0). */
KODA_CHECK int egress_route_record_set(struct egress_route_record *record,
				       const struct koda_host *host, uint16_t port);
/* Frees what the record owns, and zeroes it. */
void egress_route_record_clear(struct egress_route_record *record);
/* Returns whether the upstream proxy is a Unix socket of socket_map. Such a proxy has no port. */
bool egress_route_record_is_socket(const struct egress_route_record *record);

#endif
