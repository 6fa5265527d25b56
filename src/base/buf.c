/* SPDX-License-Identifier: MIT */
#include "base/buf.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

/* Grows the buffer to at least need bytes. */
static int grow(struct koda_buf *buf, size_t need)
{
	size_t cap = buf->cap ? buf->cap : 64;
	char *ptr;

	while (cap < need)
		cap = cap > SIZE_MAX / 2 ? need : cap * 2;
	ptr = realloc(buf->ptr, cap);
	if (!ptr)
		return KODA_E_NOMEM;
	buf->ptr = ptr;
	buf->cap = cap;
	buf->ptr[buf->len] = '\0';
	return KODA_OK;
}

/* Reserves room for len more bytes and a terminator. */
static inline int make_room(struct koda_buf *buf, size_t len)
{
	if (len > buf->max || buf->len > buf->max - len)
		return KODA_E_LIMIT;
	return buf->len + len < buf->cap ? KODA_OK : grow(buf, buf->len + len + 1);
}

int koda_buf_room(struct koda_buf *buf, size_t len, char **ret_room)
{
	int r = make_room(buf, len);

	if (r < 0)
		return r;
	*ret_room = buf->ptr + buf->len;
	return KODA_OK;
}

void koda_buf_grew(struct koda_buf *buf, size_t len)
{
	buf->len += len;
	buf->ptr[buf->len] = '\0';
}

int koda_buf_add(struct koda_buf *buf, const void *bytes, size_t len)
{
	int r = make_room(buf, len);

	if (r < 0)
		return r;
	if (len > 0)
		memcpy(buf->ptr + buf->len, bytes, len);
	buf->len += len;
	buf->ptr[buf->len] = '\0';
	return KODA_OK;
}

int koda_buf_addf(struct koda_buf *buf, const char *format, ...)
{
	va_list args;
	char *room;
	int len;
	int r;

	va_start(args, format);
	len = vsnprintf(NULL, 0, format, args);
	va_end(args);
	if (len < 0)
		return KODA_E_INVALID;
	r = koda_buf_room(buf, (size_t)len, &room);
	if (r < 0)
		return r;
	va_start(args, format);
	(void)vsnprintf(room, (size_t)len + 1, format, args);
	va_end(args);
	koda_buf_grew(buf, (size_t)len);
	return KODA_OK;
}

void koda_buf_clear(struct koda_buf *buf)
{
	free(buf->ptr);
	buf->ptr = NULL;
	buf->len = 0;
	buf->cap = 0;
}

int koda_buf_take(struct koda_buf *buf, char **ret_text)
{
	char *room;
	int r = koda_buf_room(buf, 0, &room);

	if (r < 0)
		return r;
	*ret_text = KODA_TAKE(buf->ptr);
	koda_buf_clear(buf);
	return KODA_OK;
}
