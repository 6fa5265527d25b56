/* SPDX-License-Identifier: MIT */
/*
 * TLS with origins: the proxy is the client. It always verifies the certificate, because the
 * sandbox cannot.
 */
#ifndef KODA_EGRESS_TLS_TLS_CLIENT_H
#define KODA_EGRESS_TLS_TLS_CLIENT_H

#include "tls/tls.h"

/* Sessions in the cache, one for each host and port. */
#define EGRESS_TLS_SESSIONS 256

struct egress_tls_client;

/* Opens the file of trusted CAs: named (the value of SSL_CERT_FILE) if it is not NULL or empty,
 * else the first that exists of those that distributions use. Call it before the process is locked;
 * the file is read on first use. Fails: SYS, UNSUPPORTED (there is none). */
KODA_CHECK int egress_tls_open_trust(const char *named, int *ret_fd, struct koda_error *err);

/* Creates the process's only client, with the CAs of trust_fd. Skips damaged certificates; fails if
 * none is left. Fails: SYS, LIMIT, UNSUPPORTED, NOMEM, INTERNAL. */
KODA_CHECK int egress_tls_client_new(int trust_fd, struct egress_tls_client **ret_client,
				     struct koda_error *err);
void egress_tls_client_free(struct egress_tls_client *client);

/* Creates a connection to host: TLS 1.2 or later, server name, HTTP/1.1, and a certificate for host
 * from a trusted CA. Connections must end before the client is freed. Fails: NOMEM. */
KODA_CHECK int egress_tls_connect(struct egress_tls_client *client, const struct koda_host *host,
				  uint16_t port, struct egress_tls **ret_tls,
				  struct koda_error *err);

#endif
