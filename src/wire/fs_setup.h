/* SPDX-License-Identifier: MIT */
/*
 * What the file worker is told at its start, in a sealed memory file (KODA_FS_RULES_FD): where it
 * works, the rules as marked paths, and what of its environment it may tell. The client writes it,
 * the worker reads it once and refuses to start with anything else. Needs libc only.
 */
#ifndef KODA_WIRE_FS_SETUP_H
#define KODA_WIRE_FS_SETUP_H

#include "base/buf.h"

#include <koda/fs.h>
#include <stdbool.h>
#include <stdint.h>

#define KODA_FS_SETUP_MAGIC   0x6b6f7375U
#define KODA_FS_SETUP_VERSION 1U
#define KODA_FS_SETUP_MAX     ((size_t)512 << 20)

/* Symbolic links followed for one path. */
#define KODA_FS_LINKS_MIN 8
#define KODA_FS_LINKS_MAX 40

/* Everything is borrowed. */
struct koda_fs_setup {
	/* Absolute, in normal form, without links, at least one. Nothing outside of them is
	 * reached. Relative paths start at the first one. */
	struct koda_span roots[KODA_FS_ROOTS_MAX];
	size_t root_count;
	struct koda_span env_names; /* each NUL-terminated; empty: all it has may be told */
	struct koda_span rules;     /* policy/pathindex_blob.h, not looked at here */
	uint32_t link_depth;        /* KODA_FS_LINKS_MIN to KODA_FS_LINKS_MAX */
};

/* Appends the record. Fails: INVALID for one that koda_fs_setup_read would refuse, LIMIT, NOMEM. */
KODA_CHECK int koda_fs_setup_add(struct koda_buf *out, const struct koda_fs_setup *setup);

/* Reads a record, which must be complete and nothing more. */
KODA_CHECK bool koda_fs_setup_read(struct koda_span bytes, struct koda_fs_setup *ret_setup);

#endif
