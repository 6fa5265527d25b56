/* SPDX-License-Identifier: MIT */
/* An ordered set of byte strings: entries keep the order in which they were added. */
#ifndef KODA_BASE_SET_H
#define KODA_BASE_SET_H

#include "base/buf.h"
#include "base/hash.h"

#include <stdint.h>

struct koda_set_item {
	size_t at; /* offset in text */
	uint32_t len;
	uint32_t hash;
};

struct koda_set {
	struct koda_buf text;        /* the entries, each NUL-terminated */
	struct koda_set_item *items; /* owned */
	size_t count;
	size_t cap;
	uint32_t *slots; /* owned; item number + 1, 0 is free; size is a power of two */
	size_t slot_count;
	struct koda_hash_key key;
};

/* No allocation; ceiling bounds the bytes held, terminators included. */
#define KODA_SET_INIT(ceiling)                                                                     \
	{                                                                                          \
		.text = KODA_BUF_INIT(ceiling)                                                     \
	}

#define KODA_SET_NONE SIZE_MAX

/* Adds a copy of entry. *ret_index (may be NULL) is its number, also if it was present. Fails:
 * LIMIT, NOMEM. */
KODA_CHECK int koda_set_add(struct koda_set *set, struct koda_span entry, size_t *ret_index);
/* Returns the number of entry, or KODA_SET_NONE. */
size_t koda_set_find(const struct koda_set *set, struct koda_span entry);
/* Returns entry i, NUL-terminated and borrowed until the next add; {NULL, 0} past the end. */
struct koda_span koda_set_get(const struct koda_set *set, size_t i);
/* Copies src into dst, which must be empty. Fails: LIMIT, NOMEM; dst is empty then. */
KODA_CHECK int koda_set_copy(struct koda_set *dst, const struct koda_set *src);
bool koda_set_equal(const struct koda_set *a, const struct koda_set *b);
void koda_set_clear(struct koda_set *set);

#define koda_auto_set __attribute__((cleanup(koda_set_clear)))

#endif
