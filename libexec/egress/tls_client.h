/* SPDX-License-Identifier: MIT */
/*
 * The side of a terminated connection that faces the origin: we are the client, and the only one
 * who can check the origin's certificate. It is always checked.
 */
#ifndef KODA_EGRESS_TLS_CLIENT_H
#define KODA_EGRESS_TLS_CLIENT_H

#include "tls.h"

/* Sessions kept for resuming, one per host and port. */
#define KODA_TLS_SESSIONS 256

struct koda_tls_client;

/* Opens the system's file of trusted authorities: named (the value of SSL_CERT_FILE) if it is not
 * NULL or empty, else the first that is there of those that distributions use. Done before the
 * lock-down; reading it can wait for the first use. Fails: SYS, UNSUPPORTED if there is none. */
KODA_CHECK int koda_tls_open_trust(const char *named, int *ret_fd, struct koda_error *err);

/* One per process: reads the authorities from fd, from its start. Damaged certificates are left
 * out, as everywhere; without any it fails. Fails: SYS, LIMIT, UNSUPPORTED, NOMEM, INTERNAL. */
KODA_CHECK int koda_tls_client_new(int trust_fd, struct koda_tls_client **ret_client,
				   struct koda_error *err);
void koda_tls_client_free(struct koda_tls_client *client);

/* A connection to host: TLS 1.2 or later, server name, HTTP/1.1; the certificate must lead to a
 * trusted authority and be for host. Connections must end before the client does. Fails: NOMEM. */
KODA_CHECK int koda_tls_connect(struct koda_tls_client *client, const struct koda_host *host,
				uint16_t port, struct koda_tls **ret_tls, struct koda_error *err);

#endif
