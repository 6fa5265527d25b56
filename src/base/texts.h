/* SPDX-License-Identifier: MIT */
/* A list of byte strings that only grows; unlike in a set nothing is looked for by its bytes. */
#ifndef KODA_BASE_TEXTS_H
#define KODA_BASE_TEXTS_H

#include "base/buf.h"

struct koda_texts {
	struct koda_buf bytes; /* the entries, each NUL-terminated */
	size_t *starts;        /* owned; where each begins */
	size_t count;
	size_t cap;
};

/* No allocation; ceiling bounds the bytes held, terminators included. */
#define KODA_TEXTS_INIT(ceiling)                                                                   \
	{                                                                                          \
		.bytes = KODA_BUF_INIT(ceiling)                                                    \
	}

/* Makes room for so many more entries and bytes, terminators included, at once. Fails: LIMIT,
 * NOMEM; nothing is lost then. */
KODA_CHECK int koda_texts_reserve(struct koda_texts *texts, size_t more, size_t bytes);
/* Copies entry. Fails: LIMIT, NOMEM. */
KODA_CHECK int koda_texts_add(struct koda_texts *texts, struct koda_span entry);
/* Borrowed until the next add, NUL-terminated; {NULL, 0} past the end. */
struct koda_span koda_texts_get(const struct koda_texts *texts, size_t i);
void koda_texts_clear(struct koda_texts *texts);

#define koda_auto_texts __attribute__((cleanup(koda_texts_clear)))

#endif
