/* SPDX-License-Identifier: MIT */
/*
 * JSON text with the strings of its lists taken out. The parser looks at each byte many times and
 * makes a tree of what it saw, and a policy is mostly lists of strings that cannot be wrong:
 * printable ASCII without quote and backslash means itself. What a list begins with is taken out
 * as far as it is such strings and the commas between them, and one short string that no text
 * which is abridged can contain stands for all; everything that can be wrong is still the
 * parser's to see.
 */
#ifndef KODA_POLICY_ABRIDGE_H
#define KODA_POLICY_ABRIDGE_H

#include "base/buf.h"

struct koda_abridged {
	struct koda_buf text;   /* empty: it is to be read as it is */
	struct koda_span *runs; /* owned; what was taken out, borrowed from the whole text */
	size_t count;
	size_t cap;
};

#define KODA_ABRIDGED_INIT                                                                         \
	{                                                                                          \
		.text = KODA_BUF_INIT(SIZE_MAX / 2)                                                \
	}

/* Fails: NOMEM. */
KODA_CHECK int koda_abridge(struct koda_span text, struct koda_abridged *abridged);
/* What stood where this string of the abridged text stands, one string at least; empty if it is the
 * string itself. */
struct koda_span koda_abridged_find(const struct koda_abridged *abridged, struct koda_span string);
/* Takes the next string off a run; false if there is none. It is not NUL-terminated. */
bool koda_abridged_next(struct koda_span *run, struct koda_span *ret_string);
void koda_abridged_clear(struct koda_abridged *abridged);

#define koda_auto_abridged __attribute__((cleanup(koda_abridged_clear)))

#endif
