/* SPDX-License-Identifier: MIT */
/*
 * T-119. Profiles that were rendered before. The key of one is all that it is made of: the whole
 * policy, every fact of the place, and what the request says. A survey that finds a new protected
 * path, or that one became a link, gives another place, so no profile outlives what it was made of.
 */
#ifndef KODA_PLAN_SEATBELT_CACHE_H
#define KODA_PLAN_SEATBELT_CACHE_H

#include "plan/seatbelt.h"

/* How many profiles are kept, and how many bytes of their texts; the latest is always kept. */
#define KODA_SEATBELT_CACHE_MAX   8
#define KODA_SEATBELT_CACHE_BYTES ((size_t)2 << 20)

struct koda_seatbelt_entry;

/* All zero: empty. */
struct koda_seatbelt_cache {
	struct koda_seatbelt_entry *entries[KODA_SEATBELT_CACHE_MAX]; /* owned; used last first */
	size_t count;
	size_t bytes;    /* of all texts */
	uint64_t misses; /* profiles that were rendered */
};

/* A profile of the cache. */
struct koda_seatbelt_entry {
	struct koda_rules *rules; /* owned */
	struct koda_policy *policy;
	struct koda_buf facts; /* the place and the request, as bytes */
	struct koda_buf text;  /* a profile; with marks if the request has a tag */
};

/* Finds the profile of a request, or renders it. request->rules is not used: the entry has them.
 * *ret_entry is borrowed until the next call. Fails: as koda_seatbelt_print and koda_rules_new. */
KODA_CHECK int koda_seatbelt_cache_get(struct koda_seatbelt_cache *cache,
				       const struct koda_seatbelt *request,
				       const struct koda_place *place,
				       const struct koda_seatbelt_entry **ret_entry,
				       struct koda_error *err);
/* Appends the profile of an entry, with a tag if the request had one. Fails: LIMIT, NOMEM. */
KODA_CHECK int koda_seatbelt_entry_print(const struct koda_seatbelt_entry *entry, const char *tag,
					 struct koda_buf *out, struct koda_error *err);
/* Empties the cache. */
void koda_seatbelt_cache_clear(struct koda_seatbelt_cache *cache);

#endif
