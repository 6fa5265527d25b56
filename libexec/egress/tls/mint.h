/* SPDX-License-Identifier: MIT */
/*
 * Certificates for names, signed by the CA. They share one P-256 key, which is generated with the
 * mint. The most recently used ones are cached.
 */
#ifndef KODA_EGRESS_TLS_MINT_H
#define KODA_EGRESS_TLS_MINT_H

#include "policy/host.h"
#include "tls/ca.h"

/* Certificates in the cache; each takes about 4 KiB. */
#define EGRESS_MINT_NAMES 512

struct egress_mint;

/* Creates a mint; takes over ca, also on failure. Fails: NOMEM, INTERNAL. */
KODA_CHECK int egress_mint_new(struct egress_ca *ca, struct egress_mint **ret_mint,
			       struct koda_error *err);
void egress_mint_free(struct egress_mint *mint);

/* Returns a certificate for the host that is valid at now, from the cache or new. It is borrowed
 * until the next call; X509_up_ref keeps it longer. Fails: DENIED (the CA has expired), NOMEM,
 * INTERNAL. */
KODA_CHECK int egress_mint_leaf(struct egress_mint *mint, const struct koda_host *host, time_t now,
				X509 **ret_leaf, struct koda_error *err);

/* Return the key of all certificates, and the CA; borrowed for the life of the mint. */
EVP_PKEY *egress_mint_key(const struct egress_mint *mint);
const struct egress_ca *egress_mint_ca(const struct egress_mint *mint);

#endif
