/* SPDX-License-Identifier: MIT */
/*
 * A second opinion on bodies, for tests: a reader that gets everything at once, and shares no line
 * with the proxy's. The first half judges what a client sends, by RFC 9112 and the proxy's limits;
 * the second takes apart what the proxy sent on, and knows only what the proxy itself may write.
 */
#ifndef KODA_TEST_BODY_ORACLE_H
#define KODA_TEST_BODY_ORACLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

#define ORACLE_PAYLOAD 65536

enum oracle {
	ORACLE_BAD,
	ORACLE_SHORT, /* good so far */
	ORACLE_WHOLE
};

struct oracle_body {
	enum oracle is;
	size_t used;                  /* bytes of a whole body */
	size_t len;                   /* payload before its end, or before what is bad */
	char payload[ORACLE_PAYLOAD]; /* as much of that as there is room for */
};

static inline bool oracle_is_token(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
	       (c && strchr("!#$%&'*+-.^_`|~", c));
}

static inline bool oracle_is_text(char c)
{
	return c == '\t' || ((unsigned char)c >= ' ' && c != 0x7f);
}

/* CR and LF at *at, which is moved behind them. */
static inline enum oracle oracle_line_end(const char *text, size_t len, size_t *at)
{
	static const char line_end[] = "\r\n";

	for (int i = 0; i < 2; i++, ++*at) {
		if (*at == len)
			return ORACLE_SHORT;
		if (text[*at] != line_end[i])
			return ORACLE_BAD;
	}
	return ORACLE_WHOLE;
}

/* A size and its extensions. */
static inline enum oracle oracle_size(const char *text, size_t len, size_t *at, uint64_t *ret_size)
{
	static const char digits[] = "0123456789abcdef0123456789ABCDEF";
	size_t from = *at;

	*ret_size = 0;
	for (; *at < len && text[*at] && strchr(digits, text[*at]); ++*at) {
		if (*at - from == 16 || *ret_size >= (uint64_t)1 << 58)
			return ORACLE_BAD;
		*ret_size = *ret_size * 16 + (uint64_t)((strchr(digits, text[*at]) - digits) % 16);
	}
	if (*at == len)
		return ORACLE_SHORT;
	if (*at == from)
		return ORACLE_BAD;
	if (text[*at] == ';') {
		from = ++*at;
		while (*at < len && oracle_is_text(text[*at]) && !(text[*at] & 0x80))
			if (++*at - from == 256)
				return ORACLE_BAD;
	}
	return oracle_line_end(text, len, at);
}

static inline bool oracle_may_trail(const char *name, size_t len)
{
	static const char *const no[] = { "host",
					  "content-length",
					  "transfer-encoding",
					  "connection",
					  "upgrade",
					  "expect",
					  "keep-alive",
					  "proxy-connection",
					  "proxy-authorization",
					  "proxy-authenticate",
					  "te",
					  "trailer",
					  "http2-settings" };

	for (size_t i = 0; i < sizeof(no) / sizeof(no[0]); i++)
		if (strlen(no[i]) == len && strncasecmp(no[i], name, len) == 0)
			return false;
	return len > 0 && len <= 64;
}

/* All trailers and the empty line. Line feeds do not count towards their limit. */
static inline enum oracle oracle_trailers(const char *text, size_t len, size_t *at)
{
	size_t first = *at;
	size_t lines = 0;

	for (;;) {
		size_t from = *at;
		enum oracle is;

		if (*at < len && text[*at] == '\r') {
			is = oracle_line_end(text, len, at);
			return is == ORACLE_WHOLE && *at - first - lines - 1 > 8192 ? ORACLE_BAD
										    : is;
		}
		while (*at < len && oracle_is_token(text[*at]))
			++*at;
		if (*at - from > 64)
			return ORACLE_BAD;
		if (*at == len)
			return ORACLE_SHORT;
		if (text[*at] != ':' || !oracle_may_trail(text + from, *at - from))
			return ORACLE_BAD;
		++*at;
		while (*at < len && oracle_is_text(text[*at]))
			++*at;
		if (*at - first - lines > 8192)
			return ORACLE_BAD;
		is = oracle_line_end(text, len, at);
		if (is != ORACLE_WHOLE)
			return is;
		lines++;
	}
}

static inline void oracle_give(struct oracle_body *body, const char *bytes, size_t len)
{
	size_t room = body->len < ORACLE_PAYLOAD ? ORACLE_PAYLOAD - body->len : 0;

	if (len)
		memcpy(body->payload + body->len, bytes, len < room ? len : room);
	body->len += len;
}

/* A chunked body as a client may send it. */
static inline void oracle_chunked(const char *text, size_t len, struct oracle_body *body)
{
	size_t at = 0;

	body->len = 0;
	for (;;) {
		uint64_t size;
		size_t n;

		body->is = oracle_size(text, len, &at, &size);
		if (body->is != ORACLE_WHOLE)
			return;
		if (size == 0)
			break;
		n = size < len - at ? (size_t)size : len - at;
		oracle_give(body, text + at, n);
		at += n;
		body->is = n < size ? ORACLE_SHORT : oracle_line_end(text, len, &at);
		if (body->is != ORACLE_WHOLE)
			return;
	}
	body->is = oracle_trailers(text, len, &at);
	body->used = at;
}

/* One that the proxy wrote: the shortest sizes in lower case, no extensions, no trailers. */
static inline void oracle_ours(const char *text, size_t len, struct oracle_body *body)
{
	oracle_chunked(text, len, body);
	for (size_t at = 0; at < len && body->is != ORACLE_BAD;) {
		size_t digits = strspn(text + at, "0123456789abcdef");
		size_t size = 0;

		for (size_t i = 0; i < digits && i < 6; i++)
			size = size * 16 + (size_t)(strchr("0123456789abcdef", text[at + i]) -
						    "0123456789abcdef");
		if (at + digits == len)
			return;
		if (digits > 5 || text[at + digits] != '\r' || (text[at] == '0' && digits > 1))
			body->is = ORACLE_BAD;
		at += digits + 2;
		if (size == 0) {
			/* Nothing but the empty line. */
			if (at < len && text[at] != '\r')
				body->is = ORACLE_BAD;
			return;
		}
		at += size + 2;
	}
}

/* A message that was sent on, and what is behind it. */
struct oracle_message {
	const char *head;
	size_t head_len; /* 0: it is not whole */
	struct oracle_body body;
	size_t used; /* bytes of a whole message */
};

/* The value of the one header of that name, as the proxy writes it; NULL: there is none. */
static inline const char *oracle_header(const struct oracle_message *message, const char *name)
{
	const char *found = memmem(message->head, message->head_len, name, strlen(name));

	return found ? found + strlen(name) : NULL;
}

/* text is NUL-terminated at len. */
static inline void oracle_message(const char *text, size_t len, struct oracle_message *message)
{
	const char *end = memmem(text, len, "\r\n\r\n", 4);
	const char *length;
	size_t left;
	uint64_t size = 0;

	message->head = text;
	message->head_len = end ? (size_t)(end - text) + 4 : 0;
	message->body.is = end ? ORACLE_WHOLE : ORACLE_SHORT;
	message->body.len = 0;
	message->body.used = 0;
	message->used = 0;
	if (!end)
		return;
	left = len - message->head_len;
	length = oracle_header(message, "\r\nContent-Length: ");
	if (oracle_header(message, "\r\nTransfer-Encoding: chunked\r\n")) {
		oracle_ours(text + message->head_len, left, &message->body);
		if (length)
			message->body.is = ORACLE_BAD;
	} else if (length) {
		while (*length >= '0' && *length <= '9')
			size = size * 10 + (uint64_t)(*length++ - '0');
		message->body.is = left < size ? ORACLE_SHORT : ORACLE_WHOLE;
		message->body.used = left < size ? left : (size_t)size;
		oracle_give(&message->body, text + message->head_len, message->body.used);
	}
	if (message->body.is == ORACLE_WHOLE)
		message->used = message->head_len + message->body.used;
}

#endif
