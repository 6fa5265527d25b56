/* SPDX-License-Identifier: MIT */
/* A list of byte strings that only grows; unlike a set it has no lookup by content. */
#ifndef KODA_BASE_STRLIST_H
#define KODA_BASE_STRLIST_H

#include "base/buf.h"

struct koda_strlist {
	struct koda_buf bytes; /* the entries, each NUL-terminated */
	size_t *starts;        /* owned; where each begins */
	size_t count;
	size_t cap;
};

/* No allocation; ceiling bounds the bytes held, terminators included. */
#define KODA_STRLIST_INIT(ceiling)                                                                 \
	{                                                                                          \
		.bytes = KODA_BUF_INIT(ceiling)                                                    \
	}

/* Reserves room for more entries and bytes, terminators included. Fails: LIMIT, NOMEM; the list is
 * unchanged then. */
KODA_CHECK int koda_strlist_reserve(struct koda_strlist *texts, size_t more, size_t bytes);
/* Appends a copy of entry. Fails: LIMIT, NOMEM. */
KODA_CHECK int koda_strlist_add(struct koda_strlist *texts, struct koda_span entry);
/* Returns entry i, NUL-terminated and borrowed until the next add; {NULL, 0} past the end. */
struct koda_span koda_strlist_get(const struct koda_strlist *texts, size_t i);
void koda_strlist_clear(struct koda_strlist *texts);

#define koda_auto_strlist __attribute__((cleanup(koda_strlist_clear)))

#endif
