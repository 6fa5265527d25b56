/* SPDX-License-Identifier: MIT */
#include "tls/lru.h"

#include "base/buf.h"

#include <assert.h>

#define NONE UINT32_MAX

struct egress_lru_entry {
	char *key; /* owned */
	size_t key_len;
	void *value; /* owned */
	uint32_t next_in_bucket;
	uint32_t newer;
	uint32_t older;
};

void egress_lru_init(struct egress_lru *lru, uint32_t max, void (*release)(void *value))
{
	*lru = (struct egress_lru){
		.max = max,
		.newest = NONE,
		.oldest = NONE,
		.key = koda_hash_key_draw(lru),
		.release = release,
	};
}

void egress_lru_clear(struct egress_lru *lru)
{
	for (uint32_t i = 0; i < lru->count; i++) {
		free(lru->entries[i].key);
		lru->release(lru->entries[i].value);
	}
	free(lru->entries);
	free(lru->buckets);
	egress_lru_init(lru, lru->max, lru->release);
}

static uint32_t *bucket_of(struct egress_lru *lru, struct koda_span key)
{
	assert(lru->max > 0);
	return &lru->buckets[koda_hash(&lru->key, 0, key) % lru->max];
}

static uint32_t find(struct egress_lru *lru, struct koda_span key)
{
	uint32_t i = lru->count ? *bucket_of(lru, key) : NONE;

	while (i != NONE) {
		const struct egress_lru_entry *entry = &lru->entries[i];

		if (koda_span_eq(key, (struct koda_span){ entry->key, entry->key_len }))
			break;
		i = entry->next_in_bucket;
	}
	return i;
}

static void unlink_age(struct egress_lru *lru, uint32_t i)
{
	struct egress_lru_entry *entry = &lru->entries[i];

	*(entry->newer == NONE ? &lru->newest : &lru->entries[entry->newer].older) = entry->older;
	*(entry->older == NONE ? &lru->oldest : &lru->entries[entry->older].newer) = entry->newer;
}

static void link_newest(struct egress_lru *lru, uint32_t i)
{
	struct egress_lru_entry *entry = &lru->entries[i];

	entry->newer = NONE;
	entry->older = lru->newest;
	*(lru->newest == NONE ? &lru->oldest : &lru->entries[lru->newest].newer) = i;
	lru->newest = i;
}

void *egress_lru_get(struct egress_lru *lru, struct koda_span key)
{
	uint32_t i = find(lru, key);

	if (i == NONE)
		return NULL;
	unlink_age(lru, i);
	link_newest(lru, i);
	return lru->entries[i].value;
}

/* Frees the contents of the least recently used entry, and returns its index. */
static uint32_t evict(struct egress_lru *lru)
{
	uint32_t i = lru->oldest;
	struct egress_lru_entry *entry = &lru->entries[i];
	uint32_t *link = bucket_of(lru, (struct koda_span){ entry->key, entry->key_len });

	while (*link != i)
		link = &lru->entries[*link].next_in_bucket;
	*link = entry->next_in_bucket;
	unlink_age(lru, i);
	free(entry->key);
	lru->release(entry->value);
	return i;
}

static bool make_tables(struct egress_lru *lru)
{
	struct egress_lru_entry *entries;
	uint32_t *buckets;

	if (lru->entries)
		return true;
	entries = calloc(lru->max, sizeof(*entries));
	buckets = calloc(lru->max, sizeof(*buckets));
	if (!entries || !buckets) {
		free(entries);
		free(buckets);
		return false;
	}
	memset(buckets, 0xff, lru->max * sizeof(*buckets));
	lru->entries = entries;
	lru->buckets = buckets;
	return true;
}

int egress_lru_put(struct egress_lru *lru, struct koda_span key, void *value)
{
	uint32_t i = find(lru, key);
	uint32_t *bucket;
	char *copy;

	if (i != NONE) {
		lru->release(lru->entries[i].value);
		lru->entries[i].value = value;
		return KODA_OK;
	}
	/* The key may contain NUL. */
	copy = malloc(key.len + 1);
	if (!copy || !make_tables(lru)) {
		free(copy);
		return KODA_E_NOMEM;
	}
	memcpy(copy, key.ptr, key.len);
	i = lru->count < lru->max ? lru->count++ : evict(lru);
	bucket = bucket_of(lru, key);
	lru->entries[i] = (struct egress_lru_entry){
		.key = copy,
		.key_len = key.len,
		.value = value,
		.next_in_bucket = *bucket,
	};
	*bucket = i;
	link_newest(lru, i);
	return KODA_OK;
}
