/* SPDX-License-Identifier: MIT */
/* A bounded table from byte strings to values. It evicts the least recently used entry. */
#ifndef KODA_EGRESS_TLS_LRU_H
#define KODA_EGRESS_TLS_LRU_H

#include "base/hash.h"
#include "base/macros.h"

#include <koda/span.h>
#include <stddef.h>

struct egress_lru_entry;

struct egress_lru {
	struct egress_lru_entry *entries; /* owned; allocated with the first value */
	uint32_t *buckets; /* owned; as many as entries; index of the first entry, or NONE */
	uint32_t max;
	uint32_t count;
	uint32_t newest;
	uint32_t oldest;
	struct koda_hash_key key;
	void (*release)(void *value);
};

/* Initialises a table of at most max values (1 or more); release frees one. Allocates nothing. */
void egress_lru_init(struct egress_lru *lru, uint32_t max, void (*release)(void *value));
void egress_lru_clear(struct egress_lru *lru);

/* Returns the value of key, borrowed until the table changes, or NULL. */
void *egress_lru_get(struct egress_lru *lru, struct koda_span key);

/* Takes over value and replaces an older one of that key or, when the table is full, the least
 * recently used one. On failure the caller keeps value. Fails: NOMEM. */
KODA_CHECK int egress_lru_put(struct egress_lru *lru, struct koda_span key, void *value);

#endif
