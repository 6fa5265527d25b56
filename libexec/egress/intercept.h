/* SPDX-License-Identifier: MIT */
/* "mitm" of a policy, asked quickly: is TLS to this host terminated, or handed on, and where? */
#ifndef KODA_EGRESS_INTERCEPT_H
#define KODA_EGRESS_INTERCEPT_H

#include "policy/hostindex.h"

#include <koda/policy.h>

enum koda_intercept_way {
	KODA_INTERCEPT_NOT = 0,   /* no "mitm", or not for this host: an opaque tunnel */
	KODA_INTERCEPT_TERMINATE, /* we end TLS ourselves */
	KODA_INTERCEPT_SOCKET     /* the proxy at a Unix socket gets it, and ends it or not */
};

struct koda_intercept;

/* except: patterns of hosts that are not terminated, each behind a zero byte. Fails: POLICY (no
 * pattern), NOMEM, LIMIT. */
KODA_CHECK int koda_intercept_new(const struct koda_policy *policy, struct koda_span except,
				  struct koda_intercept **ret_intercept, struct koda_error *err);
void koda_intercept_free(struct koda_intercept *intercept);

/* With SOCKET *ret_socket is the path, borrowed. The most specific entry of socket_map decides. */
enum koda_intercept_way koda_intercept_host(const struct koda_intercept *intercept,
					    const struct koda_host *host, uint16_t port,
					    const char **ret_socket);

#endif
