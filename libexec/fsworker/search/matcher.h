/* SPDX-License-Identifier: MIT */
/*
 * Lines that match an expression of PCRE2. The expression comes from a model, so what it may take
 * is bounded: match, depth and heap limits, and no more than one line at a time decides.
 *
 * An expression that could not match more by seeing more than a line is first tried on many lines
 * at once; what it finds is a candidate, and lines before it cannot match. A candidate that reaches
 * beyond its line is tried again on the line alone.
 */
#ifndef FSWORKER_SEARCH_MATCHER_H
#define FSWORKER_SEARCH_MATCHER_H

#include "search.h"

#include <stdbool.h>

/* Bytes of an expression. */
#define FSWORKER_MATCHER_PATTERN ((size_t)16 << 10)

struct fsworker_matcher {
	const struct fsworker_search *search;
	struct pcre2_real_code_8 *code;             /* owned; NULL if the literal is all */
	struct pcre2_real_match_data_8 *match;      /* owned */
	struct pcre2_real_match_context_8 *context; /* owned */
	struct koda_buf literal;                    /* in every line that matches; may be empty */
	size_t rarest;
	bool many_lines; /* may be tried on many lines at once */
	unsigned int until_look;
};

/* A line of a text, as an offset and a length without newline and carriage return. */
struct fsworker_matcher_line {
	size_t at;
	size_t len;
	size_t next; /* where the next line begins */
};

/* Makes the memory that expressions use while they match, so that it is not allocated later. Fails:
 * NOMEM. */
KODA_CHECK int fsworker_matcher_init(void);

/* Compiles search->pattern. Fails: INVALID with a sentence that says where, LIMIT, NOMEM. */
KODA_CHECK int fsworker_matcher_make(const struct fsworker_search *search,
				     struct fsworker_matcher *ret_matcher, struct koda_error *err);
void fsworker_matcher_clear(struct fsworker_matcher *matcher);

/* Finds the next matching line of text (whole lines) from offset, where a line begins. Returns 1, 0
 * if there is none or the search is over. Fails: LIMIT for an expression that takes too long,
 * NOMEM. */
KODA_CHECK int fsworker_matcher_next(struct fsworker_matcher *matcher, struct koda_span text,
				     size_t offset, struct fsworker_matcher_line *ret_line,
				     struct koda_error *err);

#endif
