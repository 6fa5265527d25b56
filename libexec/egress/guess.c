/* SPDX-License-Identifier: MIT */
/* T-70. */
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

/* Behind something else than a method: the version has to be where it belongs. */
static bool is_odd_request(struct koda_span rest)
{
	size_t at;

	while (rest.len > 0 && is_blank(rest.ptr[rest.len - 1]))
		rest.len--;
	at = rest.len;
	while (at > 0 && !is_blank(rest.ptr[at - 1]))
		at--;
	return rest.len - at >= 5 && strncasecmp(rest.ptr + at, "HTTP/", 5) == 0;
}

/* The method, behind empty lines, with which servers are patient. */
static enum egress_guess read_method(struct egress_guess_scan *scan, struct koda_span bytes)
{
	for (; scan->at < bytes.len; scan->at++) {
		char c = bytes.ptr[scan->at];

		if (!scan->begun && (is_blank(c) || c == '\r' || c == '\n'))
			continue;
		if (scan->begun && is_blank(c)) {
			scan->method = scan->at;
			return EGRESS_GUESS_HTTP;
		}
		if (is_control(c) || c == '\r' || c == '\n')
			return EGRESS_GUESS_OTHER;
		scan->odd = scan->odd || !is_token(c);
		scan->begun = true;
	}
	return EGRESS_GUESS_MORE;
}

/* The rest of the line. Either of two bytes ends it for somebody. */
static enum egress_guess read_rest(struct egress_guess_scan *scan, struct koda_span bytes)
{
	for (; scan->at < bytes.len; scan->at++) {
		struct koda_span rest = { bytes.ptr + scan->method, scan->at - scan->method };
		char c = bytes.ptr[scan->at];

		if (is_control(c))
			return EGRESS_GUESS_OTHER;
		if (c != '\n' && c != '\r')
			continue;
		return (scan->odd ? is_odd_request(rest) : is_request(rest)) ? EGRESS_GUESS_HTTP
									     : EGRESS_GUESS_OTHER;
	}
	return EGRESS_GUESS_MORE;
}

enum egress_guess egress_guess_http(struct egress_guess_scan *scan, struct koda_span bytes)
{
	enum egress_guess guess = EGRESS_GUESS_HTTP;

	if (scan->method == 0)
		guess = read_method(scan, bytes);
	if (guess == EGRESS_GUESS_HTTP)
		guess = read_rest(scan, bytes);
	if (guess == EGRESS_GUESS_MORE && bytes.len >= EGRESS_GUESS_MAX)
		return scan->odd ? EGRESS_GUESS_OTHER : EGRESS_GUESS_BAD;
	return guess;
}
