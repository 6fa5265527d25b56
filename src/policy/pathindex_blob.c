/* SPDX-License-Identifier: MIT */
#include "policy/pathindex_blob.h"

#include "base/error.h"
#include "policy/floor.h"

#include <stdint.h>

/* Of enum koda_reason, and those that are no reasons. */
#define MARKS_KNOWN (((1U << KODA_REASON_COUNT) - 1) | KODA_FLOOR_CLOSED | KODA_FLOOR_REOPENED)

static int add_entry(struct koda_buf *out, uint32_t marks, struct koda_span path)
{
	struct koda_pathindex_blob_entry entry = { marks, (uint32_t)path.len };
	int r = koda_buf_add(out, &entry, sizeof(entry));

	return r == KODA_OK ? koda_buf_add(out, path.ptr, path.len) : r;
}

int koda_pathindex_blob_add(const struct koda_pathindex *index, struct koda_buf *out)
{
	struct koda_pathindex_blob_head head = { .magic = KODA_PATHINDEX_BLOB_MAGIC,
						 .version = KODA_PATHINDEX_BLOB_VERSION };
	size_t nodes = index->node_cap ? (size_t)index->trie.nodes + 1 : 0;
	size_t start = out->len;
	int r = koda_buf_add(out, &head, sizeof(head));

	for (size_t i = 0; i < nodes && r == KODA_OK; i++) {
		struct koda_span path = koda_strlist_get(&index->texts, index->nodes[i].text);

		if (!index->nodes[i].marks)
			continue;
		r = add_entry(out, index->nodes[i].marks, path);
		head.count++;
		head.bytes += (uint32_t)path.len;
	}
	if (r < 0) {
		out->len = start;
		return r;
	}
	memcpy(out->ptr + start, &head, sizeof(head));
	return KODA_OK;
}

static int refuse(struct koda_error *err, const char *what)
{
	return koda_fail(err, KODA_E_INVALID, 0, "the path rules are malformed: %s", what);
}

/* Reads the head and reserves room. */
static int read_head(struct koda_span *rest, struct koda_pathindex *index, size_t *ret_count,
		     struct koda_error *err)
{
	struct koda_pathindex_blob_head head;
	uint64_t entries;
	int r;

	if (rest->len < sizeof(head))
		return refuse(err, "they are cut off");
	memcpy(&head, rest->ptr, sizeof(head));
	*rest = koda_span_skip(*rest, sizeof(head));
	if (head.magic != KODA_PATHINDEX_BLOB_MAGIC || head.version != KODA_PATHINDEX_BLOB_VERSION)
		return refuse(err, "of another version");
	/* Before anything is allocated for a count that is made up. */
	entries = (uint64_t)head.count * sizeof(struct koda_pathindex_blob_entry);
	if (entries + head.bytes != rest->len)
		return refuse(err, "the lengths do not add up");
	r = koda_pathindex_reserve(index, head.count, (size_t)head.bytes + head.count);
	*ret_count = head.count;
	return r < 0 ? koda_fail_room(err, r, "the list of path rules") : KODA_OK;
}

static int read_entry(struct koda_span *rest, struct koda_pathindex *index, struct koda_error *err)
{
	struct koda_pathindex_blob_entry entry;
	size_t before = index->texts.count;
	struct koda_span path;
	int r;

	if (rest->len < sizeof(entry))
		return refuse(err, "an entry is cut off");
	memcpy(&entry, rest->ptr, sizeof(entry));
	*rest = koda_span_skip(*rest, sizeof(entry));
	if (entry.len > rest->len)
		return refuse(err, "a path is cut off");
	path = (struct koda_span){ rest->ptr, entry.len };
	*rest = koda_span_skip(*rest, entry.len);
	if (!entry.marks || (entry.marks & ~MARKS_KNOWN))
		return refuse(err, "a mark is unknown");
	if (!koda_path_is_normal(path))
		return refuse(err, "a path is not in normal form");
	r = koda_pathindex_add(index, path, entry.marks, err);
	if (r == KODA_OK && index->texts.count == before)
		return refuse(err, "a path is there twice");
	return r;
}

int koda_pathindex_blob_read(struct koda_span blob, struct koda_pathindex *ret_index,
			     struct koda_error *err)
{
	size_t count = 0;
	int r = read_head(&blob, ret_index, &count, err);

	for (size_t i = 0; i < count && r == KODA_OK; i++)
		r = read_entry(&blob, ret_index, err);
	if (r == KODA_OK && blob.len > 0)
		r = refuse(err, "something follows the last path");
	if (r < 0)
		koda_pathindex_clear(ret_index);
	return r;
}
