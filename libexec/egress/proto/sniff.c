/* SPDX-License-Identifier: MIT */
#include "proto/sniff.h"

#include <strings.h>

/* Registered and customary web ports: shared servers, where one name would open others, are found
 * here. */
static const uint16_t web_ports[] = { 80, 443, 3000, 5000, 8000, 8008, 8080, 8443, 8888 };

/* Methods that servers and load balancers know; other requests are recognised by the rest of the
 * line. */
static const char *const methods[] = {
	"GET",      "HEAD",      "POST",  "PUT",  "DELETE", "CONNECT", "OPTIONS",
	"TRACE",    "PATCH",     "PRI",   "COPY", "MOVE",   "LOCK",    "UNLOCK",
	"PROPFIND", "PROPPATCH", "MKCOL", "LINK", "UNLINK", "QUERY",   "PURGE",
};

/* The PROXY protocol of load balancers: servers read its line before the request or TLS. */
static const char balancer[] = "PROXY";

bool egress_sniff_is_web(uint16_t port)
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

/* Returns whether a method may contain this byte. */
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

/* Judges what follows a possible method: a version makes it a request, and without one (HTTP/0.9) a
 * target. */
static bool is_request(struct koda_span rest)
{
	while (rest.len > 0 && is_blank(rest.ptr[0]))
		rest = koda_span_skip(rest, 1);
	return contains(rest, "HTTP/") || contains(rest, "://") ||
	       (rest.len > 0 && (rest.ptr[0] == '/' || rest.ptr[0] == '*'));
}

/* Returns whether some server splits at this byte: blanks of any character set. */
static bool is_gap(char c)
{
	return is_blank(c) || is_control(c) || (unsigned char)c >= 0x80;
}

/* Returns whether the word after the gaps is a method so far. */
static bool front_is_method(const struct egress_sniff_front *front)
{
	return front->led && is_method((struct koda_span){ front->word, front->len });
}

/* Handles one byte of the line. Returns true if a method that follows gaps ends here. */
static bool follow_front(struct egress_sniff_front *front, char c)
{
	if (front->over)
		return false;
	if (is_gap(c)) {
		front->led = true;
		front->over = front->len > 0;
		return front_is_method(front);
	}
	front->over = !front->led || front->len == sizeof(front->word);
	if (front->over)
		front->len = 0;
	else
		front->word[front->len++] = c;
	return false;
}

/* Handles one byte of the line: tracks "HTTP/", and whether the line so far ends with a gap,
 * "HTTP/", a number and gaps. */
static void follow_version(struct egress_sniff_version *v, char c)
{
	static const char word[] = "http/";
	bool gap = is_gap(c);

	if (v->matched > 0 && strncasecmp(&c, word + v->matched, 1) == 0) {
		v->matched++;
	} else {
		v->matched = c == 'H' || c == 'h';
		v->apart = v->gap;
	}
	if (v->matched == sizeof(word) - 1) {
		v->matched = 0;
		v->seen = true;
		v->ends = v->apart;
		v->over = false;
	} else if (v->ends) {
		v->ends = gap || (!v->over && (is_digit(c) || c == '.'));
		v->over = gap;
	}
	v->gap = gap;
}

/* Returns whether the line ends with a version. */
static bool has_version(struct koda_span line)
{
	struct egress_sniff_version version = { 0 };

	for (size_t i = 0; i < line.len; i++)
		follow_version(&version, line.ptr[i]);
	return version.ends;
}

/* Judges the complete line. */
static enum egress_sniff judge(const struct egress_sniff_scan *scan, struct koda_span line)
{
	struct koda_span rest = koda_span_skip(line, scan->word - scan->begin);

	if (scan->control)
		return scan->method || has_version(line) || (!scan->odd && contains(rest, "HTTP/"))
			       ? EGRESS_SNIFF_BAD
			       : EGRESS_SNIFF_OTHER;
	return scan->method || has_version(line) || (!scan->odd && is_request(rest))
		       ? EGRESS_SNIFF_HTTP
		       : EGRESS_SNIFF_OTHER;
}

/* Judges the complete first word. Returns false if the line is refused. */
static bool end_word(struct egress_sniff_scan *scan, struct koda_span bytes)
{
	struct koda_span word = { bytes.ptr + scan->begin, scan->at - scan->begin };

	scan->word = scan->at;
	scan->method = is_method(word);
	/* Only a blank may follow a method. */
	return !equals(word, balancer) &&
	       (!scan->method || (scan->at < bytes.len && is_blank(bytes.ptr[scan->at])));
}

/* Handles a byte within the line. Returns false if the line is refused. */
static bool look(struct egress_sniff_scan *scan, struct koda_span bytes)
{
	char c = bytes.ptr[scan->at];

	if (!scan->begun) {
		/* The binary PROXY protocol begins with empty lines. */
		if (scan->at > 0 && is_control(c))
			return false;
		scan->begun = true;
		scan->begin = scan->at;
	}
	/* This is not valid HTTP, but some servers accept it, even without a version. */
	if (follow_front(&scan->front, c))
		return false;
	scan->control = scan->control || is_control(c);
	if (scan->word > 0 || is_token(c))
		return true;
	/* A method ends at any other byte; another word continues to a blank. */
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

/* Judges the line at its end, or at the end of input. */
static enum egress_sniff end_line(struct egress_sniff_scan *scan, struct koda_span bytes)
{
	if (!scan->begun)
		return EGRESS_SNIFF_OTHER;
	if (!scan->front.over && front_is_method(&scan->front))
		return EGRESS_SNIFF_BAD;
	if (scan->word == 0 && !scan->odd && !end_word(scan, bytes))
		return EGRESS_SNIFF_BAD;
	if (scan->word == 0)
		scan->word = scan->at;
	return judge(scan, (struct koda_span){ bytes.ptr + scan->begin, scan->at - scan->begin });
}

/* Handles the rest of a line that is too long to keep, and too long for a request: it is refused or
 * passes. */
static enum egress_sniff follow_line(struct egress_sniff_scan *scan, struct koda_span bytes,
				     bool ended)
{
	const struct egress_sniff_version *version = &scan->version;

	for (size_t i = 0; i < bytes.len && !ended; i++) {
		ended = bytes.ptr[i] == '\r' || bytes.ptr[i] == '\n';
		if (ended)
			break;
		follow_version(&scan->version, bytes.ptr[i]);
		/* These bytes pass at once, so the end of the word does not matter. */
		(void)follow_front(&scan->front, bytes.ptr[i]);
		if (front_is_method(&scan->front))
			return EGRESS_SNIFF_BAD;
	}
	if (!ended)
		return EGRESS_SNIFF_LONG;
	return version->ends || (!scan->odd && version->seen) ? EGRESS_SNIFF_BAD
							      : EGRESS_SNIFF_OTHER;
}

static enum egress_sniff scan_line(struct egress_sniff_scan *scan, struct koda_span bytes,
				   bool ended)
{
	if (scan->longer)
		return follow_line(scan, bytes, ended);
	for (; scan->at < bytes.len; scan->at++) {
		char c = bytes.ptr[scan->at];

		/* Servers skip empty lines. */
		if (!scan->begun && (is_blank(c) || c == '\r' || c == '\n'))
			continue;
		/* Servers accept CR or LF as the end of a line. */
		if (c == '\r' || c == '\n')
			return end_line(scan, bytes);
		if (!look(scan, bytes))
			return EGRESS_SNIFF_BAD;
	}
	if (ended)
		return end_line(scan, bytes);
	if (bytes.len >= EGRESS_SNIFF_MAX) {
		scan->front = (struct egress_sniff_front){ 0 };
		scan->longer = (scan->odd || scan->control) && !scan->method;
		return scan->longer ? follow_line(scan, koda_span_skip(bytes, scan->begin), false)
				    : EGRESS_SNIFF_BAD;
	}
	return scan->method || front_is_method(&scan->front) ? EGRESS_SNIFF_HOLD
							     : EGRESS_SNIFF_MORE;
}

enum egress_sniff egress_sniff_http(struct egress_sniff_scan *scan, struct koda_span bytes,
				    bool ended)
{
	enum egress_sniff now;

	if (scan->latch.fallen)
		return (enum egress_sniff)scan->latch.answer;
	now = scan_line(scan, bytes, ended);
	if (now > EGRESS_SNIFF_LONG)
		(void)egress_latch_fall(&scan->latch, now);
	return now;
}
