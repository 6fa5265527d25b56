/* SPDX-License-Identifier: MIT */
/* Vectors of owned strings, such as argv and the environment. */
#ifndef KODA_BASE_STRV_H
#define KODA_BASE_STRV_H

#include "base/macros.h"

#include <koda/span.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct koda_strv {
	char **items; /* owned, NULL-terminated once anything was added */
	size_t len;
	size_t cap;
};

#define KODA_STRV_INIT                                                                             \
	{                                                                                          \
		0                                                                                  \
	}

/* Appends a copy of item. Fails: NOMEM. */
KODA_CHECK int koda_strv_add(struct koda_strv *strv, const char *item, struct koda_error *err);
KODA_CHECK int koda_strv_add_span(struct koda_strv *strv, struct koda_span item,
				  struct koda_error *err);
/* Appends item and takes ownership of it, also on failure. Fails: NOMEM. */
KODA_CHECK int koda_strv_take(struct koda_strv *strv, char *item, struct koda_error *err);
bool koda_strv_has(const struct koda_strv *strv, const char *item);
void koda_strv_clear(struct koda_strv *strv);

#define koda_auto_strv __attribute__((cleanup(koda_strv_clear)))

#endif
