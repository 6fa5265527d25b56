/* SPDX-License-Identifier: MIT */
/*
 * Patterns of names: those of glob requests and those of ignore files. A pattern is a list of
 * parts, one for each component of a path. A set of bits says which parts may come next, so
 * matching takes time in proportion to the name and the pattern, whatever they are.
 *
 *	*       any bytes of a component        ?       one character
 *	[a-z]   one of them, [!a-z] none        \x      the character x
 *	**      any number of components, as a component of its own; at the end at least one
 */
#ifndef FSWORKER_SEARCH_GLOB_H
#define FSWORKER_SEARCH_GLOB_H

#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>

/* One bit for each part, and one for the end. */
#define FSWORKER_GLOB_PARTS 63

enum fsworker_glob_flag {
	FSWORKER_GLOB_PLAIN = 0,
	FSWORKER_GLOB_NAME = 1, /* of one component: a slash is no separator, "**" is "*" */
	FSWORKER_GLOB_UTF8 = 2  /* "?" and "[...]" take a character; otherwise a byte */
};

struct fsworker_glob_part {
	uint32_t kind; /* of glob.c */
	uint32_t len;
	const char *text;
};

struct fsworker_glob {
	struct fsworker_glob_part *parts; /* owned, the texts behind them */
	size_t count;
	bool utf8;
};

/* Compiles a pattern without NUL. Components that are empty match nothing. Fails: INVALID with a
 * sentence for a class or escape that does not end, LIMIT for more than FSWORKER_GLOB_PARTS
 * components, NOMEM. */
KODA_CHECK int fsworker_glob_compile(struct koda_span text, enum fsworker_glob_flag flags,
				     struct fsworker_glob *ret_glob, struct koda_error *err);
void fsworker_glob_clear(struct fsworker_glob *glob);

/* Returns the parts that may match the first component. */
uint64_t fsworker_glob_first(const struct fsworker_glob *glob);
/* Returns the parts that may match what follows, after a component that is name. */
uint64_t fsworker_glob_next(const struct fsworker_glob *glob, uint64_t parts,
			    struct koda_span name);
/* Returns true if the pattern is complete. */
static inline bool fsworker_glob_is_end(const struct fsworker_glob *glob, uint64_t parts)
{
	return parts >> glob->count & 1;
}
/* Returns those of the parts that begin with a dot, and so mean hidden names. */
uint64_t fsworker_glob_dotted(const struct fsworker_glob *glob, uint64_t parts);

/* Returns true if the pattern matches a whole relative path. */
bool fsworker_glob_match_path(const struct fsworker_glob *glob, struct koda_span path);

#endif
