/* SPDX-License-Identifier: MIT */
/*
 * Bytes: struct koda_span looks at someone else's, struct koda_buf owns its own. A buffer is born
 * with a ceiling, so that hostile input meets a number and not the out-of-memory killer.
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

/* Fails: LIMIT at the ceiling, NOMEM; the contents stay as they were. */
KODA_CHECK int koda_buf_add(struct koda_buf *buf, const void *bytes, size_t len);
KODA_CHECK int koda_buf_addf(struct koda_buf *buf, const char *format, ...) KODA_PRINTF(2, 3);
/* Makes room for len more bytes and gives a pointer to them; koda_buf_grew takes them over. */
KODA_CHECK int koda_buf_room(struct koda_buf *buf, size_t len, char **ret_room);
void koda_buf_grew(struct koda_buf *buf, size_t len);
void koda_buf_clear(struct koda_buf *buf);
/* The contents as an owned C string (never NULL on success); the buffer is empty afterwards. */
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

/* s without its first n bytes (n <= s.len). */
static inline struct koda_span koda_span_skip(struct koda_span s, size_t n)
{
	return (struct koda_span){ s.ptr + n, s.len - n };
}

#endif
