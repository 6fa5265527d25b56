/* SPDX-License-Identifier: MIT */
/*
 * Bytes: struct koda_span borrows them, struct koda_buf owns them. Every buffer has a ceiling, so
 * that hostile input fails with LIMIT and does not exhaust the memory.
 */
#ifndef KODA_BASE_BUF_H
#define KODA_BASE_BUF_H

#include "base/macros.h"

#include <koda/span.h>
#include <stdbool.h>
#include <string.h>

struct koda_buf {
	char *ptr; /* owned; NUL-terminated once anything was added, NULL before */
	size_t len;
	size_t cap;
	size_t max; /* len never exceeds it */
};

#define KODA_BUF_INIT(ceiling)                                                                     \
	{                                                                                          \
		.max = (ceiling)                                                                   \
	}

/* Appends bytes. Fails: LIMIT at the ceiling, NOMEM; the contents are unchanged then. */
KODA_CHECK int koda_buf_add(struct koda_buf *buf, const void *bytes, size_t len);
KODA_CHECK int koda_buf_addf(struct koda_buf *buf, const char *format, ...) KODA_PRINTF(2, 3);
/* Reserves room for len more bytes and returns a pointer to it; koda_buf_grew makes them part of
 * the contents. Fails: LIMIT, NOMEM. */
KODA_CHECK int koda_buf_room(struct koda_buf *buf, size_t len, char **ret_room);
void koda_buf_grew(struct koda_buf *buf, size_t len);
void koda_buf_clear(struct koda_buf *buf);
/* Returns the contents as an owned C string, never NULL, and leaves the buffer empty. Fails: NOMEM.
 */
KODA_CHECK int koda_buf_take(struct koda_buf *buf, char **ret_text);

#define koda_auto_buf __attribute__((cleanup(koda_buf_clear)))

static inline struct koda_span koda_span_of(const char *text)
{
	return (struct koda_span){ text, strlen(text) };
}

static inline struct koda_span koda_buf_span(const struct koda_buf *buf)
{
	return (struct koda_span){ buf->ptr, buf->len };
}

static inline bool koda_span_eq(struct koda_span a, struct koda_span b)
{
	return a.len == b.len && (a.len == 0 || memcmp(a.ptr, b.ptr, a.len) == 0);
}

static inline bool koda_span_is(struct koda_span a, const char *text)
{
	return koda_span_eq(a, koda_span_of(text));
}

/* Returns s without its first n bytes (n <= s.len). */
static inline struct koda_span koda_span_skip(struct koda_span s, size_t n)
{
	return (struct koda_span){ s.ptr + n, s.len - n };
}

#endif
