/* SPDX-License-Identifier: MIT */
/*
 * Keyed hashing (SipHash-1-3). Every table has a random key of its own, so that the author of a
 * policy cannot choose entries that collide.
 */
#ifndef KODA_BASE_HASH_H
#define KODA_BASE_HASH_H

#include <koda/span.h>
#include <stdint.h>

struct koda_hash_key {
	uint64_t k0;
	uint64_t k1;
};

/* Returns a key for this table, secret outside this process. */
struct koda_hash_key koda_hash_key_draw(const void *table);

uint64_t koda_hash(const struct koda_hash_key *key, uint32_t salt, struct koda_span bytes);

#endif
