/* SPDX-License-Identifier: MIT */
/*
 * The proxy that the host itself has to use, from the variables its other programs read. A value
 * that cannot be understood is an error at the start: going direct instead would leave the path
 * the site has prescribed.
 */
#ifndef EGRESS_UPSTREAM_H
#define EGRESS_UPSTREAM_H

#include "policy/host.h"

#define EGRESS_PROXY_URL_MAX 2048
#define EGRESS_NO_PROXY_MAX  ((size_t)64 * 1024)
#define EGRESS_BYPASS_MAX    4096 /* entries of NO_PROXY */

struct egress_proxy {
	bool set;
	struct koda_host host;
	uint16_t port;
	char *auth; /* owned: "Basic ..." for Proxy-Authorization, or NULL */
};

struct egress_bypass;

struct egress_upstream {
	struct egress_proxy http;     /* for plain HTTP: HTTP_PROXY, or ALL_PROXY */
	struct egress_proxy https;    /* for tunnels and TLS: HTTPS_PROXY, or ALL_PROXY */
	bool bypass_all;              /* NO_PROXY has an entry "*" */
	struct egress_bypass *bypass; /* owned */
	size_t bypass_count;
};

/* Reads HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY (lower case goes first, empty is unset)
 * out of envp. up must be all zero. Fails: INVALID with the variable as field (and never its
 * value: it may hold a password), LIMIT, NOMEM. */
KODA_CHECK int egress_upstream_read(struct egress_upstream *up, char *const *envp,
				    struct koda_error *err);
void egress_upstream_clear(struct egress_upstream *up);

/* The proxy that host:port is reached through, or NULL for direct. tls: a tunnel or terminated
 * TLS. Borrowed. */
const struct egress_proxy *egress_upstream_for(const struct egress_upstream *up,
					       const struct koda_host *host, uint16_t port,
					       bool tls);

/* Appends "CONNECT host:port" with Host and credentials, for a tunnel through the proxy. The
 * response is read with egress_head_find and egress_head_response. Fails: LIMIT, NOMEM. */
KODA_CHECK int egress_upstream_connect(const struct egress_proxy *proxy,
				       const struct koda_host *host, uint16_t port,
				       struct koda_buf *out);

#endif
