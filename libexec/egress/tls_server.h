/* SPDX-License-Identifier: MIT */
/* The side of a terminated connection that faces the sandbox: we are the server. */
#ifndef KODA_EGRESS_TLS_SERVER_H
#define KODA_EGRESS_TLS_SERVER_H

#include "leaf.h"
#include "tls.h"

struct koda_tls_server;

/* One per authority; takes ca over, also on failure. Fails: NOMEM, INTERNAL. */
KODA_CHECK int koda_tls_server_new(struct koda_ca *ca, struct koda_tls_server **ret_server,
				   struct koda_error *err);
void koda_tls_server_free(struct koda_tls_server *server);

/* A connection to the client that asked for host. TLS 1.2 or later, HTTP/1.1 if the client names
 * protocols, and a server name that, if there is one, is host. Sessions are resumed for the same
 * host only. Connections must end before the server does. Fails: DENIED, NOMEM, INTERNAL. */
KODA_CHECK int koda_tls_accept(struct koda_tls_server *server, const struct koda_host *host,
			       time_t now, struct koda_tls **ret_tls, struct koda_error *err);

#endif
