/* SPDX-License-Identifier: MIT */
/*
 * The text on its way into the parser. Two things are watched that the parser does not watch:
 *
 * Nesting, so that its recursion never meets a depth bomb.
 *
 * Memory: a failed allocation must end the parse, whatever the parser makes of it. Its trace is
 * malloc's ENOMEM, which reading a number wipes out; so numbers are handed over by themselves, and
 * errno is looked at before and after each.
 */
#ifndef KODA_POLICY_FEED_H
#define KODA_POLICY_FEED_H

#include "base/macros.h"

#include <koda/span.h>
#include <stdbool.h>

struct koda_feed {
	const char *given; /* up to here the parser has it */
	const char *ready; /* up to here it may have it */
	const char *end;
	const char *line_start;
	size_t line;
	unsigned int depth;
	unsigned int max_depth;
	bool too_deep;
	bool no_memory;
};

/* text is not empty, and borrowed. */
struct koda_feed koda_feed_start(struct koda_span text, unsigned int max_depth);
/* Copies what comes next, as much as may be handed over in one piece; data is the feed. 0 at the
 * end, (size_t)-1 if nothing more may be. */
size_t koda_feed_give(void *buffer, size_t size, void *data);
/* What to say if it was too deep. Fails: LIMIT. */
KODA_CHECK int koda_feed_fail_deep(const struct koda_feed *feed, struct koda_error *err);

#endif
