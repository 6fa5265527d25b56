/* SPDX-License-Identifier: MIT */
/* The host and port that a client asked for. */
#ifndef KODA_EGRESS_ROUTE_TARGET_H
#define KODA_EGRESS_ROUTE_TARGET_H

#include "policy/host.h"

/* Bytes of a name or an address as text, with the terminator. */
#define EGRESS_TARGET_TEXT (KODA_HOST_NAME_MAX + 1)

struct egress_target {
	struct koda_host host;
	uint16_t port;
	char text[EGRESS_TARGET_TEXT]; /* canonical: the name, or the address without brackets */
};

/* Parses host. Fails: POLICY (not a host, or port 0). */
KODA_CHECK int egress_target_set(struct egress_target *target, struct koda_span host, uint16_t port,
				 struct koda_error *err);
/* Copies a host that was parsed already. Fails: POLICY (port 0). */
KODA_CHECK int egress_target_of(struct egress_target *target, const struct koda_host *host,
				uint16_t port);
bool egress_target_equal(const struct egress_target *a, const struct egress_target *b);
/* Returns the address that is known without a lookup (a literal, or loopback for localhost and its
 * synonyms), or NULL. Borrowed. */
const struct koda_addr *egress_target_address(const struct egress_target *target);

#endif
