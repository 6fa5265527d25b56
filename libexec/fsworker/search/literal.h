/* SPDX-License-Identifier: MIT */
/*
 * Bytes that every match of an expression contains. They are found faster than the expression is
 * tried, so lines without them are passed over.
 */
#ifndef FSWORKER_SEARCH_LITERAL_H
#define FSWORKER_SEARCH_LITERAL_H

#include "base/buf.h"

#include <stdbool.h>

/* Appends the longest such bytes of an expression; nothing if there are none, or if the expression
 * has something that this does not understand. *ret_whole: the expression is those bytes and
 * nothing else. Fails: LIMIT, NOMEM. */
KODA_CHECK int fsworker_literal_required(struct koda_span pattern, struct koda_buf *out,
					 bool *ret_whole);

/* Returns the offset of the byte of a literal that texts have least often. */
size_t fsworker_literal_rarest(struct koda_span literal);
/* Returns where literal (not empty) begins in text, or NULL. */
const char *fsworker_literal_find(struct koda_span literal, size_t rarest, struct koda_span text);

#endif
