/* SPDX-License-Identifier: MIT */
#include "listing.h"

#include <dirent.h>
#include <fcntl.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Of what getdents64 returns at a time. */
#define BLOCK ((size_t)64 << 10)

/* As the kernel writes it. */
struct record {
	uint64_t inode;
	int64_t next;
	uint16_t len;
	uint8_t type;
	char name[];
};

static uint64_t key_of(struct koda_span name)
{
	uint64_t key = 0;

	memcpy(&key, name.ptr, name.len < sizeof(key) ? name.len : sizeof(key));
	return __builtin_bswap64(key); /* the machine is little-endian: meson.build */
}

static int compare(struct koda_span a, struct koda_span b)
{
	int order = memcmp(a.ptr, b.ptr, a.len < b.len ? a.len : b.len);

	return order ? order : (a.len > b.len) - (a.len < b.len);
}

static int by_name(const void *a, const void *b, void *ctx)
{
	const struct fsworker_listing_entry *x = a, *y = b;
	const char *names = ctx;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return compare((struct koda_span){ names + x->at, x->len },
		       (struct koda_span){ names + y->at, y->len });
}

static uint8_t type_of(int dir, const char *name, uint8_t listed)
{
	struct stat st;

	if (listed != DT_UNKNOWN || fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return listed;
	return (uint8_t)IFTODT(st.st_mode);
}

static int add_name(struct fsworker_listing *listing, int dir, const char *name, uint8_t type)
{
	struct koda_span text = koda_span_of(name);
	int rc;

	if (koda_span_is(text, ".") || koda_span_is(text, "..") || text.len > UINT16_MAX)
		return KODA_OK;
	if (listing->count == listing->cap) {
		size_t cap = listing->cap ? listing->cap * 2 : 256;
		struct fsworker_listing_entry *grown =
			reallocarray(listing->entries, cap, sizeof(*grown));

		if (!grown)
			return KODA_E_NOMEM;
		listing->entries = grown;
		listing->cap = cap;
	}
	listing->entries[listing->count] =
		(struct fsworker_listing_entry){ key_of(text), (uint32_t)listing->names.len,
						 (uint16_t)text.len, type_of(dir, name, type) };
	rc = koda_buf_add(&listing->names, text.ptr, text.len + 1);
	listing->count += rc == KODA_OK;
	return rc;
}

int fsworker_listing_add(struct fsworker_listing *listing, int dir)
{
	size_t first = listing->count;
	long got;

	if (!listing->block)
		listing->block = malloc(BLOCK);
	if (!listing->block)
		return KODA_E_NOMEM;
	while ((got = syscall(SYS_getdents64, dir, listing->block, BLOCK)) > 0) {
		for (size_t at = 0; at < (size_t)got;) {
			struct record head;
			const char *record = listing->block + at;
			int rc;

			memcpy(&head, record, sizeof(head));
			rc = add_name(listing, dir, record + offsetof(struct record, name),
				      head.type);
			if (rc < 0)
				return rc;
			at += head.len;
		}
	}
	if (listing->count == first)
		return KODA_OK;
	qsort_r(listing->entries + first, listing->count - first, sizeof(*listing->entries),
		by_name, listing->names.ptr);
	return KODA_OK;
}

bool fsworker_listing_has(const struct fsworker_listing *listing, size_t first, const char *name)
{
	struct koda_span wanted = koda_span_of(name);
	size_t low = first, high = listing->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = compare(fsworker_listing_name(listing, middle), wanted);

		if (order == 0)
			return true;
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return false;
}

void fsworker_listing_clear(struct fsworker_listing *listing)
{
	koda_buf_clear(&listing->names);
	free(listing->entries);
	free(listing->block);
	*listing = (struct fsworker_listing){ .names = KODA_BUF_INIT(listing->names.max) };
}
