/* SPDX-License-Identifier: MIT */
/* A bounded table of byte strings to values that forgets what was not asked for longest. */
#ifndef KODA_EGRESS_LRU_H
#define KODA_EGRESS_LRU_H

#include "base/hash.h"
#include "base/macros.h"

#include <koda/span.h>
#include <stddef.h>

struct koda_lru_entry;

struct koda_lru {
	struct koda_lru_entry *entries; /* owned; made with the first value */
	uint32_t *buckets;              /* owned; as many as entries; first entry, or NONE */
	uint32_t max;
	uint32_t count;
	uint32_t newest;
	uint32_t oldest;
	struct koda_hash_key key;
	void (*release)(void *value);
};

/* Holds at most max values (1 or more); release frees one. Allocates nothing yet. */
void koda_lru_init(struct koda_lru *lru, uint32_t max, void (*release)(void *value));
void koda_lru_clear(struct koda_lru *lru);

/* The value of key, borrowed until the table changes; NULL if there is none. */
void *koda_lru_get(struct koda_lru *lru, struct koda_span key);

/* Takes value in, in place of an older one for the same key or, when full, of the one that was
 * not asked for longest. On failure the caller keeps it. Fails: NOMEM. */
KODA_CHECK int koda_lru_put(struct koda_lru *lru, struct koda_span key, void *value);

#endif
