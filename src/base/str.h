/* SPDX-License-Identifier: MIT */
/* Owned string vectors (argv, environment) and checked numbers. */
#ifndef KODA_BASE_STR_H
#define KODA_BASE_STR_H

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

/* Copies its argument. Fails: NOMEM. */
KODA_CHECK int koda_strv_add(struct koda_strv *strv, const char *item, struct koda_error *err);
KODA_CHECK int koda_strv_add_span(struct koda_strv *strv, struct koda_span item,
				  struct koda_error *err);
/* Takes ownership of item, also on failure. */
KODA_CHECK int koda_strv_take(struct koda_strv *strv, char *item, struct koda_error *err);
bool koda_strv_has(const struct koda_strv *strv, const char *item);
void koda_strv_clear(struct koda_strv *strv);

#define koda_auto_strv __attribute__((cleanup(koda_strv_clear)))

/* Decimal digits only: no sign, no space, no prefix. Fails: INVALID, LIMIT above max. */
KODA_CHECK int koda_parse_u64(const char *text, uint64_t max, uint64_t *ret_value,
			      struct koda_error *err);
/* The same with an optional K, M or G (powers of 1024, either case). */
KODA_CHECK int koda_parse_size(const char *text, uint64_t max, uint64_t *ret_value,
			       struct koda_error *err);

/* Locale-free ASCII. */
static inline char koda_ascii_lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static inline bool koda_ascii_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* 0-15, or -1. */
static inline int koda_ascii_hex(char c)
{
	if (koda_ascii_is_digit(c))
		return c - '0';
	c = koda_ascii_lower(c);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* True if text is well-formed UTF-8 (no surrogates, no overlong forms). */
bool koda_utf8_is_valid(struct koda_span text);

#endif
