/* SPDX-License-Identifier: MIT */
/*
 * Reads the index of a git repository, as far as it leads git into other directories: entries of
 * mode 160000 (gitlinks), directories of a sparse index, and the name of a shared index. Versions 2
 * to 4. A command may have written it, so every length is checked; what git itself would not read
 * is skipped.
 */
#ifndef KODA_RUN_PROJECT_GIT_INDEX_H
#define KODA_RUN_PROJECT_GIT_INDEX_H

#include "base/macros.h"

#include <koda/span.h>
#include <stdbool.h>
#include <stddef.h>

/* Length of object names of SHA-1 and SHA-256 repositories. */
#define KODA_GIT_INDEX_SHA1   ((size_t)20)
#define KODA_GIT_INDEX_SHA256 ((size_t)32)

/* Length of the name of a shared index: "sharedindex." and the hexadecimal digits. */
#define KODA_GIT_INDEX_SHARED (sizeof("sharedindex.") + 2 * KODA_GIT_INDEX_SHA256)

/* Called for each gitlink, with its path below the work tree; any bytes but NUL. A path that ends
 * with "/" is a directory of a sparse index: git replaces it by the entries of a tree object, and
 * gitlinks may be among them. An empty path stands for gitlinks whose path the index does not tell:
 * it is in the shared index, a sparse directory does not end with "/", or the offsets for git's
 * threads lead elsewhere. A negative result stops the walk. */
typedef int koda_git_index_fn(void *ctx, struct koda_span path);

/* Calls see for gitlinks and sparse directories. shared (may be NULL) gets the name of the shared
 * index, or "". Returns 0, or what see returned. Stops where the bytes are no index. */
KODA_CHECK int koda_git_index_walk(struct koda_span bytes, size_t hash_len, koda_git_index_fn *see,
				   void *ctx, char shared[KODA_GIT_INDEX_SHARED]);

#endif
