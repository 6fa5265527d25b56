/* SPDX-License-Identifier: MIT */
/* T-70. */
#include "guess.h"

#include <strings.h>

/* Those that are registered for it, and those that are customary where they are not free: shared
 * servers, where one name would open the others, are found here. */
static const uint16_t web_ports[] = { 80, 443, 3000, 5000, 8000, 8008, 8080, 8443, 8888 };

/* What servers and what stands before them know; others are found by the rest of the line. */
static const char *const methods[] = {
	"GET",      "HEAD",      "POST",  "PUT",  "DELETE", "CONNECT", "OPTIONS",
	"TRACE",    "PATCH",     "PRI",   "COPY", "MOVE",   "LOCK",    "UNLOCK",
	"PROPFIND", "PROPPATCH", "MKCOL", "LINK", "UNLINK", "QUERY",   "PURGE",
};

/* A load balancer's line, which servers that expect one read before the request or the TLS. */
static const char balancer[] = "PROXY";

bool egress_guess_is_web(uint16_t port)
{
	for (size_t i = 0; i < KODA_ARRAY_LEN(web_ports); i++)
		if (web_ports[i] == port)
			return true;
	return false;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* What a method may consist of. */
static bool is_token(char c)
{
	return is_digit(c) || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
	       (c != '\0' && strchr("!#$%&'*+-.^_`|~", c));
}

static bool is_control(char c)
{
	return ((unsigned char)c < 0x20 && !is_blank(c)) || c == 0x7f;
}

static bool equals(struct koda_span text, const char *word)
{
	return text.len == strlen(word) && strncasecmp(text.ptr, word, text.len) == 0;
}

static bool is_method(struct koda_span word)
{
	for (size_t i = 0; i < KODA_ARRAY_LEN(methods); i++)
		if (equals(word, methods[i]))
			return true;
	return false;
}

static bool contains(struct koda_span text, const char *word)
{
	size_t len = strlen(word);

	for (size_t i = 0; i + len <= text.len; i++)
		if (strncasecmp(text.ptr + i, word, len) == 0)
			return true;
	return false;
}

/* Behind a word that could be a method: a version makes it a request, and without one (as before
 * HTTP/1) a target does. */
static bool is_request(struct koda_span rest)
{
	while (rest.len > 0 && is_blank(rest.ptr[0]))
		rest = koda_span_skip(rest, 1);
	return contains(rest, "HTTP/") || contains(rest, "://") ||
	       (rest.len > 0 && (rest.ptr[0] == '/' || rest.ptr[0] == '*'));
}

/* Some divide at bytes that are blanks in one of the world's character sets. */
static bool is_gap(char c)
{
	return is_blank(c) || is_control(c) || (unsigned char)c >= 0x80;
}

/* Does the line end with a version, whatever it begins with? */
static bool has_version(struct koda_span line)
{
	size_t at = line.len;

	while (at > 0 && is_gap(line.ptr[at - 1]))
		at--;
	while (at > 0 && (is_digit(line.ptr[at - 1]) || line.ptr[at - 1] == '.'))
		at--;
	return at > 5 && strncasecmp(line.ptr + at - 5, "HTTP/", 5) == 0 &&
	       is_gap(line.ptr[at - 6]);
}

/* The line is whole. */
static enum egress_guess judge(const struct egress_guess_scan *scan, struct koda_span line)
{
	struct koda_span rest = koda_span_skip(line, scan->word - scan->begin);

	if (scan->control)
		return scan->method || has_version(line) || (!scan->odd && contains(rest, "HTTP/"))
			       ? EGRESS_GUESS_BAD
			       : EGRESS_GUESS_OTHER;
	return scan->method || has_version(line) || (!scan->odd && is_request(rest))
		       ? EGRESS_GUESS_HTTP
		       : EGRESS_GUESS_OTHER;
}

/* The first word is whole. False: no good. */
static bool end_word(struct egress_guess_scan *scan, struct koda_span bytes)
{
	struct koda_span word = { bytes.ptr + scan->begin, scan->at - scan->begin };

	scan->word = scan->at;
	scan->method = is_method(word);
	/* Behind a method there is nothing but a blank. */
	return !equals(word, balancer) &&
	       (!scan->method || (scan->at < bytes.len && is_blank(bytes.ptr[scan->at])));
}

/* A byte that does not end the line. False: no good. */
static bool look(struct egress_guess_scan *scan, struct koda_span bytes)
{
	char c = bytes.ptr[scan->at];

	if (!scan->begun) {
		/* A load balancer's line again, the binary one, begins with empty lines. */
		if (scan->at > 0 && is_control(c))
			return false;
		scan->begun = true;
		scan->begin = scan->at;
	}
	scan->control = scan->control || is_control(c);
	if (scan->word > 0 || is_token(c))
		return true;
	/* A method ends at anything else; what is none goes on to a blank. */
	if (!scan->odd && !end_word(scan, bytes))
		return false;
	if (is_blank(c)) {
		scan->word = scan->at;
		return true;
	}
	scan->odd = true;
	scan->word = 0;
	return true;
}

/* The line ends here, or everything does. */
static enum egress_guess end_line(struct egress_guess_scan *scan, struct koda_span bytes)
{
	if (!scan->begun)
		return EGRESS_GUESS_OTHER;
	if (scan->word == 0 && !scan->odd && !end_word(scan, bytes))
		return EGRESS_GUESS_BAD;
	if (scan->word == 0)
		scan->word = scan->at;
	return judge(scan, (struct koda_span){ bytes.ptr + scan->begin, scan->at - scan->begin });
}

enum egress_guess egress_guess_http(struct egress_guess_scan *scan, struct koda_span bytes,
				    bool ended)
{
	for (; scan->at < bytes.len; scan->at++) {
		char c = bytes.ptr[scan->at];

		/* With empty lines servers are patient. */
		if (!scan->begun && (is_blank(c) || c == '\r' || c == '\n'))
			continue;
		/* Either of two bytes ends it for somebody. */
		if (c == '\r' || c == '\n')
			return end_line(scan, bytes);
		if (!look(scan, bytes))
			return EGRESS_GUESS_BAD;
	}
	if (ended)
		return end_line(scan, bytes);
	if (bytes.len >= EGRESS_GUESS_MAX)
		return (scan->odd || scan->control) && !scan->method ? EGRESS_GUESS_OTHER
								     : EGRESS_GUESS_BAD;
	return scan->method ? EGRESS_GUESS_HOLD : EGRESS_GUESS_MORE;
}
