/* SPDX-License-Identifier: MIT */
#include "guess.h"

#include <strings.h>

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/* What a method may consist of. */
static bool is_token(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
	       (c != '\0' && strchr("!#$%&'*+-.^_`|~", c));
}

/* No server reads on after one of these. */
static bool is_control(char c)
{
	return ((unsigned char)c < 0x20 && c != '\t' && c != '\r' && c != '\n') || c == 0x7f;
}

static bool contains(struct koda_span text, const char *word)
{
	size_t len = strlen(word);

	for (size_t i = 0; i + len <= text.len; i++)
		if (strncasecmp(text.ptr + i, word, len) == 0)
			return true;
	return false;
}

/* What stands behind the method: a version makes it a request, and without one (as before HTTP/1)
 * a path or an address does. */
static bool is_request(struct koda_span rest)
{
	while (rest.len > 0 && is_blank(rest.ptr[0]))
		rest = koda_span_skip(rest, 1);
	return contains(rest, "HTTP/") || contains(rest, "://") ||
	       (rest.len > 0 && rest.ptr[0] == '/');
}

enum egress_guess egress_guess_http(struct koda_span bytes)
{
	size_t at = 0;
	size_t method;
	size_t end;

	/* Servers are patient with empty lines. */
	while (at < bytes.len &&
	       (is_blank(bytes.ptr[at]) || bytes.ptr[at] == '\r' || bytes.ptr[at] == '\n'))
		at++;
	method = at;
	while (at < bytes.len && is_token(bytes.ptr[at]))
		at++;
	if (at < bytes.len && (at == method || !is_blank(bytes.ptr[at])))
		return EGRESS_GUESS_OTHER;
	/* Either of the two ends a line for somebody. */
	for (end = at; end < bytes.len && bytes.ptr[end] != '\n' && bytes.ptr[end] != '\r'; end++)
		if (is_control(bytes.ptr[end]))
			return EGRESS_GUESS_OTHER;
	if (end < bytes.len)
		return is_request((struct koda_span){ bytes.ptr + at, end - at })
			       ? EGRESS_GUESS_HTTP
			       : EGRESS_GUESS_OTHER;
	return bytes.len >= EGRESS_GUESS_MAX ? EGRESS_GUESS_BAD : EGRESS_GUESS_MORE;
}
