/* SPDX-License-Identifier: MIT */
/* A pattern with alternatives in braces, "*.{c,h}", as the patterns that it stands for. */
#ifndef FSWORKER_SEARCH_GLOBSET_H
#define FSWORKER_SEARCH_GLOBSET_H

#include "glob.h"

/* Ceilings: patterns that one stands for, bytes of a pattern. */
#define FSWORKER_GLOBSET_MAX   64
#define FSWORKER_GLOBSET_BYTES ((size_t)4096)

struct fsworker_globset {
	struct fsworker_glob globs[FSWORKER_GLOBSET_MAX];
	size_t count;
};

/* Compiles a pattern and all that its braces stand for. Braces without a comma, or without an end,
 * are ordinary characters. Fails: INVALID with a sentence, LIMIT, NOMEM. */
KODA_CHECK int fsworker_globset_compile(struct koda_span text, enum fsworker_glob_flag flags,
					struct fsworker_globset *ret_set, struct koda_error *err);
void fsworker_globset_clear(struct fsworker_globset *set);

/* Returns true if one of the patterns matches a whole relative path. */
bool fsworker_globset_match_path(const struct fsworker_globset *set, struct koda_span path);

#endif
