/* SPDX-License-Identifier: MIT */
/*
 * Feeds the text to the parser, and checks what the parser does not:
 *
 * Nesting, so that its recursion is bounded.
 *
 * Memory: a failed allocation must end the parse, but the parser may ignore it. It leaves ENOMEM in
 * errno, which parsing a number clears; so numbers are fed by themselves, and errno is checked
 * before and after each.
 */
#ifndef KODA_POLICY_JSON_FEED_H
#define KODA_POLICY_JSON_FEED_H

#include "base/macros.h"

#include <koda/span.h>
#include <stdbool.h>

struct koda_json_feed {
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

/* Starts to feed text, which is not empty, and borrowed. */
struct koda_json_feed koda_json_feed_start(struct koda_span text, unsigned int max_depth);
/* Copies the next piece of text into buffer; data is the feed. Returns its length, 0 at the end,
 * (size_t)-1 after a failure. */
size_t koda_json_feed_give(void *buffer, size_t size, void *data);
/* Fills err if the text is nested too deep. Fails: LIMIT. */
KODA_CHECK int koda_json_feed_fail_deep(const struct koda_json_feed *feed, struct koda_error *err);

#endif
