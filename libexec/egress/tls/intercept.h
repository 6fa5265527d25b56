/* SPDX-License-Identifier: MIT */
/* An index of "mitm" of a policy: whether TLS to a host is terminated, or goes to a Unix socket. */
#ifndef KODA_EGRESS_TLS_INTERCEPT_H
#define KODA_EGRESS_TLS_INTERCEPT_H

#include "policy/hostindex.h"

#include <koda/policy.h>

enum egress_intercept_action {
	EGRESS_INTERCEPT_NOT = 0,   /* no "mitm", or not for this host: a tunnel */
	EGRESS_INTERCEPT_TERMINATE, /* the proxy terminates TLS */
	EGRESS_INTERCEPT_SOCKET     /* the proxy at a Unix socket gets the connection */
};

struct egress_intercept;

/* Builds the index. terminates: TLS is terminated, except to hosts in except (patterns, each after
 * a zero byte). Fails: POLICY (not a pattern), NOMEM, LIMIT. */
KODA_CHECK int egress_intercept_new(const struct koda_policy *policy, bool terminates,
				    struct koda_span except,
				    struct egress_intercept **ret_intercept,
				    struct koda_error *err);
void egress_intercept_free(struct egress_intercept *intercept);

/* Returns what to do with a connection to host. For SOCKET, *ret_socket is the path (borrowed). The
 * most specific entry of socket_map decides. */
enum egress_intercept_action egress_intercept_host(const struct egress_intercept *intercept,
						   const struct koda_host *host, uint16_t port,
						   const char **ret_socket);

#endif
