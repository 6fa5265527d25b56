/* SPDX-License-Identifier: MIT */
/*
 * T-80. The decision about a connection, in this order: the text is a host and a port; no deny rule
 * covers it; an allow rule does; and, once the name is resolved, each address on its own passes
 * the guard. Pure but for the list of the host's own addresses. Only what comes out of here is
 * ever connected to.
 */
#ifndef KODA_EGRESS_DECIDE_H
#define KODA_EGRESS_DECIDE_H

#include "own.h"
#include "policy/host.h"
#include "wire/egress.h"

/* Room for a name or an address as text. */
#define KODA_TARGET_TEXT (KODA_HOST_NAME_MAX + 1)

/* A rule set that connections share; each holds a reference, so that a rule's text can be told
 * after the set was replaced. */
struct koda_ruleset {
	unsigned int refs;
	struct koda_rules *rules; /* owned */
};

/* Takes over rules; one reference is the caller's. NULL: no memory, and rules is freed. */
struct koda_ruleset *koda_ruleset_new(struct koda_rules *rules);
struct koda_ruleset *koda_ruleset_ref(struct koda_ruleset *set);
/* NULL is fine. */
void koda_ruleset_unref(struct koda_ruleset *set);

struct koda_target {
	struct koda_host host;
	uint16_t port;
	char text[KODA_TARGET_TEXT]; /* canonical: the name, or the address without brackets */
};

/* Fails: POLICY for what is no host or port. */
KODA_CHECK int koda_target_set(struct koda_target *target, struct koda_span host, uint16_t port,
			       struct koda_error *err);
/* The same for a host that is canonical already. */
KODA_CHECK int koda_target_of(struct koda_target *target, const struct koda_host *host,
			      uint16_t port);
bool koda_target_equal(const struct koda_target *a, const struct koda_target *b);
/* The address that is known without looking it up, or NULL. Borrowed. */
const struct koda_addr *koda_target_address(const struct koda_target *target);

struct koda_decision {
	enum koda_egress_reason reason; /* OK: go on */
	struct koda_span rule;          /* borrowed from the rule set; may be empty */
};

/* By name, before anything is looked up. NOT_LISTED is what a person may be asked about. */
struct koda_decision koda_decide_host(const struct koda_rules *rules,
				      const struct koda_target *target);
/* For an address that target leads to. With asked, a person allowed the name, which no rule lists:
 * then the address must be public. */
struct koda_decision koda_decide_address(const struct koda_rules *rules, struct koda_own *own,
					 const struct koda_target *target, bool asked,
					 const struct koda_addr *addr);
/* For a target whose name an upstream proxy looks up: what is known without that is judged here,
 * which leaves *now, the decision by name, as it is if nothing is. False: refused, *now says why.
 */
bool koda_decide_unresolved(const struct koda_rules *rules, struct koda_own *own,
			    const struct koda_target *target, bool asked,
			    struct koda_decision *now);

#endif
