/* SPDX-License-Identifier: MIT */
/* The names in directories, sorted by bytes. They form a stack: one directory after the other. */
#ifndef FSWORKER_SEARCH_LISTING_H
#define FSWORKER_SEARCH_LISTING_H

#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>

struct fsworker_listing_entry {
	uint64_t key; /* the first bytes of the name, as a number that sorts like them */
	uint32_t at;  /* where its name begins */
	uint16_t len;
	uint8_t type; /* DT_DIR and so on, never DT_UNKNOWN where that can be found out */
};

struct fsworker_listing {
	struct koda_buf names; /* each NUL-terminated */
	struct fsworker_listing_entry *entries;
	size_t count;
	size_t cap;
	char *block; /* what the kernel fills */
};

/* Appends the entries of a directory but "." and "..". What cannot be read is left out. Fails:
 * LIMIT at the ceiling of names, NOMEM. */
KODA_CHECK int fsworker_listing_add(struct fsworker_listing *listing, int dir);
/* Returns the name of entry i, NUL-terminated and borrowed until the next add. */
static inline struct koda_span fsworker_listing_name(const struct fsworker_listing *listing,
						     size_t i)
{
	const struct fsworker_listing_entry *entry = &listing->entries[i];

	return (struct koda_span){ listing->names.ptr + entry->at, entry->len };
}
/* Returns true if the entries from first on have one of that name. */
bool fsworker_listing_has(const struct fsworker_listing *listing, size_t first, const char *name);
/* Takes back what was added since there were count entries and bytes of names. */
static inline void fsworker_listing_back(struct fsworker_listing *listing, size_t count,
					 size_t bytes)
{
	listing->count = count;
	listing->names.len = bytes;
}
void fsworker_listing_clear(struct fsworker_listing *listing);

#endif
