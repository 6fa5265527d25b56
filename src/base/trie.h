/* SPDX-License-Identifier: MIT */
/*
 * A tree whose edges carry byte strings: path components from the root downwards, or host labels
 * from the right. All edges live in one hash table, so the cost of a step does not depend
 * on the number of children, and a walk stops at the first label that no rule mentions.
 */
#ifndef KODA_BASE_TRIE_H
#define KODA_BASE_TRIE_H

#include "base/buf.h"
#include "base/hash.h"

#include <stdint.h>

#define KODA_TRIE_ROOT 0U
#define KODA_TRIE_NONE UINT32_MAX

/* Half a cache line: a step into a large table costs one miss, because short labels (nearly all
 * of them) need no second look elsewhere. */
#define KODA_TRIE_INLINE 16

struct koda_trie_edge {
	uint32_t hash;
	uint32_t parent;
	uint32_t child; /* 0 means the slot is free: the root is never a child */
	uint32_t len;
	union {
		char bytes[KODA_TRIE_INLINE]; /* a label of at most this length */
		uint32_t at;                  /* offset of a longer one in text */
	} label;
};

struct koda_trie {
	struct koda_buf text;         /* the long labels */
	struct koda_trie_edge *slots; /* owned; size is a power of two */
	size_t slot_count;
	uint32_t nodes; /* nodes besides the root; they are numbered 1..nodes */
	struct koda_hash_key key;
};

/* No allocation; ceiling bounds the bytes of long labels held. */
#define KODA_TRIE_INIT(ceiling)                                                                    \
	{                                                                                          \
		.text = KODA_BUF_INIT(ceiling)                                                     \
	}

/* Reserves room for more nodes. Fails: LIMIT, NOMEM; the tree is unchanged then. */
KODA_CHECK int koda_trie_reserve(struct koda_trie *trie, size_t more);
/* Finds the child of parent along label, or adds it. Fails: LIMIT, NOMEM. */
KODA_CHECK int koda_trie_add(struct koda_trie *trie, uint32_t parent, struct koda_span label,
			     uint32_t *ret_child);
/* Returns the child of parent along label, or KODA_TRIE_NONE. */
uint32_t koda_trie_find(const struct koda_trie *trie, uint32_t parent, struct koda_span label);
void koda_trie_clear(struct koda_trie *trie);

#define koda_auto_trie __attribute__((cleanup(koda_trie_clear)))

#endif
