/* SPDX-License-Identifier: MIT */
/*
 * Reads the index of a git repository, as far as it leads git into other directories: entries of
 * mode 160000 (gitlinks), directories of a sparse index, and the name of a shared index. Versions 2
 * to 4.
 *
 * A command may have written it. Git reads much that it never writes, and each tool reads that in
 * its own way. So this accepts only what git, libgit2, JGit and gitoxide write, to the byte: whole
 * lengths, sorted names of ordinary components, known modes, extensions that fill the file up to
 * its hash. All readers agree on such an index. Any other is refused.
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

struct koda_git_index {
	size_t hash_len;
	bool is_shared; /* this is the shared index of a split index */
	bool see_all;   /* any entry may be a gitlink: the other part of the index says so */
	/* Results: */
	char shared[KODA_GIT_INDEX_SHARED]; /* the name of the shared index, or "" */
	bool has_unnamed; /* a gitlink has the path of an entry of the shared index */
};

/* Called for each gitlink, with its path below the work tree; any bytes but NUL. A path that ends
 * with "/" is a directory of a sparse index: git replaces it by the entries of a tree object, and
 * gitlinks may be among them. A negative result stops the walk. */
typedef int koda_git_index_fn(void *ctx, struct koda_span path);

/* Calls see for gitlinks and sparse directories. Fails: INVALID if the bytes are no index as tools
 * write it, perhaps after calls of see; what see returned. */
KODA_CHECK int koda_git_index_walk(struct koda_git_index *index, struct koda_span bytes,
				   koda_git_index_fn *see, void *ctx);

#endif
