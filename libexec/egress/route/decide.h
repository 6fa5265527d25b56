/* SPDX-License-Identifier: MIT */
/*
 * T-80. Decides about a target, in this order: it is a host and a port; no deny rule covers it; an
 * allow rule does; and, once the name is resolved, each address passes the address guard. Pure
 * functions, but for the list of the host's addresses. The proxy connects to nothing else.
 */
#ifndef KODA_EGRESS_ROUTE_DECIDE_H
#define KODA_EGRESS_ROUTE_DECIDE_H

#include "route/host_addrs.h"
#include "route/target.h"
#include "wire/egress.h"

struct egress_decision {
	enum koda_egress_reason reason; /* OK: allowed so far */
	struct koda_span rule;          /* borrowed from the rule set; may be empty */
};

/* Decides by name, before the lookup. NOT_LISTED is what the user may be asked about. */
struct egress_decision egress_decide_host(const struct koda_rules *rules,
					  const struct egress_target *target);
/* Decides about an address of target. user_allowed: no rule lists the name, but the user allowed
 * it; then the address must be public. */
struct egress_decision egress_decide_address(const struct koda_rules *rules,
					     struct egress_host_addrs *host_addrs,
					     const struct egress_target *target, bool user_allowed,
					     const struct koda_addr *addr);
/* Decides about a target whose name an upstream proxy looks up, as far as its address is known.
 * *now is the decision by name, which stays if the address is unknown. A name without a dot is
 * refused unless a rule lists it, because the upstream proxy might append a domain. Returns false
 * if the target is refused; *now says why. */
bool egress_decide_unresolved(const struct koda_rules *rules, struct egress_host_addrs *host_addrs,
			      const struct egress_target *target, bool user_allowed,
			      struct egress_decision *now);

#endif
