/* SPDX-License-Identifier: MIT */
/*
 * Elides the strings of lists from JSON text, because the parser is slow and policies are mostly
 * long lists of plain strings: printable ASCII without quote and backslash, which cannot be
 * malformed. A run of plain strings at the start of a list is replaced by one short string that the
 * text cannot contain otherwise. The parser still sees everything that can be malformed.
 */
#ifndef KODA_POLICY_JSON_ELIDE_H
#define KODA_POLICY_JSON_ELIDE_H

#include "base/buf.h"

struct koda_json_elided {
	struct koda_buf text;   /* empty: nothing was elided */
	struct koda_span *runs; /* owned; the elided strings, borrowed from the whole text */
	size_t count;
	size_t cap;
};

#define KODA_JSON_ELIDED_INIT                                                                      \
	{                                                                                          \
		.text = KODA_BUF_INIT(SIZE_MAX / 2)                                                \
	}

/* Elides the lists of text. Fails: NOMEM. */
KODA_CHECK int koda_json_elide(struct koda_span text, struct koda_json_elided *elided);
/* Returns the run that this string of the elided text stands for, of one string at least; empty if
 * it stands for itself. */
struct koda_span koda_json_elided_find(const struct koda_json_elided *elided,
				       struct koda_span string);
/* Takes the next string off a run, not NUL-terminated. Returns false at the end. */
bool koda_json_elided_next(struct koda_span *run, struct koda_span *ret_string);
void koda_json_elided_clear(struct koda_json_elided *elided);

#define koda_auto_json_elided __attribute__((cleanup(koda_json_elided_clear)))

#endif
