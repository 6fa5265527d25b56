/* SPDX-License-Identifier: MIT */
/*
 * Certificates for the names that clients ask for, signed by our authority. All of them share one
 * P-256 key that is made when the mint is; the last few hundred are kept.
 */
#ifndef KODA_EGRESS_LEAF_H
#define KODA_EGRESS_LEAF_H

#include "ca.h"
#include "policy/host.h"

/* How many names are remembered: a certificate takes about 4 KiB in memory. */
#define KODA_MINT_NAMES 512

struct koda_mint;

/* Takes ca over, also on failure. Fails: NOMEM, INTERNAL. */
KODA_CHECK int koda_mint_new(struct koda_ca *ca, struct koda_mint **ret_mint,
			     struct koda_error *err);
void koda_mint_free(struct koda_mint *mint);

/* A certificate for the name or address, valid at now: the kept one or a new one. It is borrowed
 * until the next call; whoever needs it longer takes a reference.
 * Fails: DENIED when the authority has expired, NOMEM, INTERNAL. */
KODA_CHECK int koda_mint_leaf(struct koda_mint *mint, const struct koda_host *host, time_t now,
			      X509 **ret_leaf, struct koda_error *err);

/* The key of every leaf, and the authority; borrowed for the life of the mint. */
EVP_PKEY *koda_mint_key(const struct koda_mint *mint);
const struct koda_ca *koda_mint_ca(const struct koda_mint *mint);

#endif
