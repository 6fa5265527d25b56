/* SPDX-License-Identifier: MIT */
/* TLS with the sandbox: the proxy is the server. */
#ifndef KODA_EGRESS_TLS_TLS_SERVER_H
#define KODA_EGRESS_TLS_TLS_SERVER_H

#include "tls/mint.h"
#include "tls/tls.h"

struct egress_tls_server;

/* Creates a server for a CA (taken over, also on failure). Fails: NOMEM, INTERNAL. */
KODA_CHECK int egress_tls_server_new(struct egress_ca *ca, struct egress_tls_server **ret_server,
				     struct koda_error *err);
void egress_tls_server_free(struct egress_tls_server *server);

/* Creates a connection to a client that asked for host: TLS 1.2 or later, HTTP/1.1 if the client
 * lists protocols, and a server name that is host or absent. Sessions are resumed for that host
 * only. Connections must end before the server is freed. Fails: DENIED, NOMEM, INTERNAL. */
KODA_CHECK int egress_tls_accept(struct egress_tls_server *server, const struct koda_host *host,
				 time_t now, struct egress_tls **ret_tls, struct koda_error *err);

#endif
