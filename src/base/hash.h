/* SPDX-License-Identifier: MIT */
/*
 * Keyed hashing (SipHash-1-3). Tables built from policy text must not degrade when whoever wrote
 * the text chose it to collide, so every table draws its own key.
 */
#ifndef KODA_BASE_HASH_H
#define KODA_BASE_HASH_H

#include <koda/span.h>
#include <stdint.h>

struct koda_hash_key {
	uint64_t k0;
	uint64_t k1;
};

/* A key nobody outside this process knows, another one for each table. */
struct koda_hash_key koda_hash_key_draw(const void *table);

uint64_t koda_hash(const struct koda_hash_key *key, uint32_t salt, struct koda_span bytes);

#endif
