/* SPDX-License-Identifier: MIT */
/* A rule set that connections share. Each holds a reference, so that a rule's text stays valid
 * after the tenant got other rules. */
#ifndef KODA_EGRESS_ROUTE_RULESET_H
#define KODA_EGRESS_ROUTE_RULESET_H

#include <koda/rules.h>

struct egress_ruleset {
	unsigned int refs;
	struct koda_rules *rules; /* owned */
};

/* Takes over rules and returns the first reference. Returns NULL, and frees rules, without memory.
 */
struct egress_ruleset *egress_ruleset_new(struct koda_rules *rules);
/* Returns set, with one more reference. */
struct egress_ruleset *egress_ruleset_ref(struct egress_ruleset *set);
/* Drops a reference; the last one frees the set. NULL is allowed. */
void egress_ruleset_unref(struct egress_ruleset *set);

#endif
