/* SPDX-License-Identifier: MIT */
/* The text of one component of a pattern, against one name. */
#ifndef FSWORKER_SEARCH_GLOB_TEXT_H
#define FSWORKER_SEARCH_GLOB_TEXT_H

#include "base/buf.h"

#include <stdbool.h>

/* Returns where the class that begins at text ("[") ends, behind its "]"; NULL if it does not. */
const char *fsworker_glob_text_class(const char *text, const char *end);

/* Returns true if the pattern matches all of name. Time is at most the product of the lengths.
 * utf8:
 * "?" and classes take a character, not a byte. */
bool fsworker_glob_text_match(struct koda_span pattern, struct koda_span name, bool utf8);

#endif
