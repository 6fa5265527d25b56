/* SPDX-License-Identifier: MIT */
/*
 * A path index as bytes, for a process that decides about paths and must not parse anything else:
 * the marked paths and their marks, in the byte order of the machine. The process that sends them
 * seals them. Needs libc only.
 */
#ifndef KODA_POLICY_PATHINDEX_BLOB_H
#define KODA_POLICY_PATHINDEX_BLOB_H

#include "policy/pathindex.h"

/* What the bytes begin with; then, for each path, struct koda_pathindex_blob_entry and the path.
 * Nothing is aligned. */
struct koda_pathindex_blob_head {
	uint32_t magic;
	uint32_t version;
	uint32_t count;
	uint32_t bytes; /* of all paths together */
};

struct koda_pathindex_blob_entry {
	uint32_t marks;
	uint32_t len;
};

#define KODA_PATHINDEX_BLOB_MAGIC   0x6b6f7069U
#define KODA_PATHINDEX_BLOB_VERSION 1U

/* Appends the marked paths of index. Fails: LIMIT, NOMEM; out is unchanged then. */
KODA_CHECK int koda_pathindex_blob_add(const struct koda_pathindex *index, struct koda_buf *out);

/* Reads them back into an index, which is empty before. The bytes must be exactly what blob_add
 * writes: paths in normal form, each once, with marks that exist, and nothing behind the last.
 * Fails: INVALID, LIMIT, NOMEM; the index is empty then. */
KODA_CHECK int koda_pathindex_blob_read(struct koda_span blob, struct koda_pathindex *ret_index,
					struct koda_error *err);

#endif
