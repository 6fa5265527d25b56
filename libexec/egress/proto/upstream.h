/* SPDX-License-Identifier: MIT */
/*
 * The upstream proxy of the host, from the usual environment variables. An invalid value is an
 * error at start-up: a direct connection would bypass the path that the site prescribes.
 */
#ifndef KODA_EGRESS_PROTO_UPSTREAM_H
#define KODA_EGRESS_PROTO_UPSTREAM_H

#include "policy/host.h"

#define EGRESS_PROXY_URL_MAX 2048
#define EGRESS_NO_PROXY_MAX  ((size_t)64 * 1024)
#define EGRESS_BYPASS_MAX    4096 /* entries of NO_PROXY */

struct egress_upstream_proxy {
	bool set;
	struct koda_host host;
	uint16_t port;
	char *auth; /* owned: "Basic ..." for Proxy-Authorization, or NULL */
};

struct egress_bypass;

struct egress_upstream {
	struct egress_upstream_proxy http;  /* for plain HTTP: HTTP_PROXY, or ALL_PROXY */
	struct egress_upstream_proxy https; /* for tunnels and TLS: HTTPS_PROXY, or ALL_PROXY */
	bool bypass_all;                    /* NO_PROXY has an entry "*" */
	struct egress_bypass *bypass;       /* owned */
	size_t bypass_count;
};

/* Reads HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY (lower case takes precedence, empty is
 * unset) from envp. up must be zeroed. Fails: INVALID with the variable as field (never its value,
 * which may hold a password), LIMIT, NOMEM. */
KODA_CHECK int egress_upstream_read(struct egress_upstream *up, char *const *envp,
				    struct koda_error *err);
void egress_upstream_clear(struct egress_upstream *up);

/* Returns the proxy for host:port, or NULL for a direct connection. tls: a tunnel or terminated
 * TLS. Borrowed. */
const struct egress_upstream_proxy *egress_upstream_for(const struct egress_upstream *up,
							const struct koda_host *host, uint16_t port,
							bool tls);

/* Appends "CONNECT host:port" with Host and credentials. egress_head_find and egress_head_response
 * parse the response. Fails: LIMIT, NOMEM. */
KODA_CHECK int egress_upstream_connect(const struct egress_upstream_proxy *proxy,
				       const struct koda_host *host, uint16_t port,
				       struct koda_buf *out);

#endif
