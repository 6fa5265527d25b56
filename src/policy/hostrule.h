/* SPDX-License-Identifier: MIT */
/* One entry of allowed_domains or denied_domains. */
#ifndef KODA_POLICY_HOSTRULE_H
#define KODA_POLICY_HOSTRULE_H

#include "policy/host.h"

enum koda_hostrule_kind {
	KODA_HOSTRULE_NAME = 0, /* exactly this name */
	KODA_HOSTRULE_BELOW,    /* every name below this one */
	KODA_HOSTRULE_NET,      /* an address or a range of them */
	KODA_HOSTRULE_ANY       /* every host */
};

struct koda_hostrule {
	enum koda_hostrule_kind kind;
	uint8_t prefix;   /* NET: leading bits that count */
	bool public_only; /* NAME: listing it does not lift the address guard */
	uint16_t port;    /* 0: any */
	struct koda_host host;
};

/* Parses NAME, *.NAME, ADDRESS, ADDRESS/BITS or *, each with an optional :PORT (an IPv6 address
 * with a port stands in brackets); NAME[:PORT]#public for public_only. Fails: POLICY. */
KODA_CHECK int koda_hostrule_parse(struct koda_span text, struct koda_hostrule *ret_rule,
				   struct koda_error *err);
/* Checks that a pattern may be in this list: "*" and names below a public suffix can be denied
 * but not allowed, "#public" can be allowed but not denied. Fails: POLICY. */
KODA_CHECK int koda_hostrule_check_allow(const struct koda_hostrule *rule, struct koda_error *err);
KODA_CHECK int koda_hostrule_check_deny(const struct koda_hostrule *rule, struct koda_error *err);
/* Appends the canonical text, which parses to the same rule. Fails: LIMIT, NOMEM. */
KODA_CHECK int koda_hostrule_format(const struct koda_hostrule *rule, struct koda_buf *out,
				    struct koda_error *err);

#endif
