/* SPDX-License-Identifier: MIT */
/*
 * The walk over a tree, sorted by bytes, component by component. Directories are opened one below
 * the other and links are not followed, so it never leaves the directory that it got. It asks its
 * caller about every name, then the ignore files, then the policy.
 */
#ifndef FSWORKER_SEARCH_WALK_H
#define FSWORKER_SEARCH_WALK_H

#include "search.h"

#include <stdbool.h>

/* Directories below the first one that are entered, one in the other. Deeper ones are passed over.
 * Each holds a descriptor. */
#define FSWORKER_WALK_DEPTH 256

/* Bytes of the names of all directories on the way, as they are listed. */
#define FSWORKER_WALK_NAMES ((size_t)256 << 20)

/* What is to be done with an entry; both for directories that are results. */
enum fsworker_walk_want {
	FSWORKER_WALK_PASS = 0,
	FSWORKER_WALK_TELL = 1,
	FSWORKER_WALK_ENTER = 2
};

struct fsworker_walk_entry {
	int dir;               /* the directory it is in */
	const char *name;      /* in that directory */
	struct koda_span path; /* relative to the start of the walk; NUL-terminated */
};

struct fsworker_walk {
	const struct fsworker_search *search;
	/* Says what is to be done with a name in a directory of that depth. A directory that is to
	 * be entered is entered before anything else of its depth is asked about. */
	enum fsworker_walk_want (*want)(void *ctx, size_t depth, struct koda_span name, bool is_dir,
					bool is_file);
	/* Takes an entry that may be read. Returns 1 to end the walk. */
	int (*tell)(void *ctx, const struct fsworker_walk_entry *entry, struct koda_error *err);
	void *ctx;
};

/* Walks. Fails: as tell does; LIMIT, NOMEM. */
KODA_CHECK int fsworker_walk_run(const struct fsworker_walk *walk, struct koda_error *err);

#endif
