/* SPDX-License-Identifier: MIT */
#include "http_head.h"

#include "base/str.h"
#include "http_parse.h"

#define TOKEN_VALUE        (EGRESS_IS_TOKEN | EGRESS_IS_VALUE)
#define TOKEN_VALUE_TARGET (EGRESS_IS_TOKEN | EGRESS_IS_VALUE | EGRESS_IS_TARGET)
#define VALUE_TARGET       (EGRESS_IS_VALUE | EGRESS_IS_TARGET)

/* Not in targets: blanks and controls, which end them; '#', which no target has; '"', '<', '>' and
 * '\', which some servers turn into something else. */
const uint8_t egress_http_class[256] = {
	['\t'] = EGRESS_IS_VALUE,
	[' '] = EGRESS_IS_VALUE,
	['!'] = TOKEN_VALUE_TARGET,
	['"'] = EGRESS_IS_VALUE,
	['#'] = TOKEN_VALUE,
	['$' ... '\''] = TOKEN_VALUE_TARGET,
	['(' ... ')'] = VALUE_TARGET,
	['*' ... '+'] = TOKEN_VALUE_TARGET,
	[','] = VALUE_TARGET,
	['-' ... '.'] = TOKEN_VALUE_TARGET,
	['/'] = VALUE_TARGET,
	['0' ... '9'] = TOKEN_VALUE_TARGET,
	[':' ... ';'] = VALUE_TARGET,
	['<'] = EGRESS_IS_VALUE,
	['='] = VALUE_TARGET,
	['>'] = EGRESS_IS_VALUE,
	['?' ... '@'] = VALUE_TARGET,
	['A' ... 'Z'] = TOKEN_VALUE_TARGET,
	['['] = VALUE_TARGET,
	['\\'] = EGRESS_IS_VALUE,
	[']'] = VALUE_TARGET,
	['^' ... '`'] = TOKEN_VALUE_TARGET,
	['a' ... 'z'] = TOKEN_VALUE_TARGET,
	['{'] = VALUE_TARGET,
	['|'] = TOKEN_VALUE_TARGET,
	['}'] = VALUE_TARGET,
	['~'] = TOKEN_VALUE_TARGET,
	[0x80 ... 0xff] = EGRESS_IS_VALUE,
};

bool egress_http_same(struct koda_span text, const char *lower)
{
	for (size_t i = 0; i < text.len; i++)
		if (!lower[i] || koda_ascii_lower(text.ptr[i]) != lower[i])
			return false;
	return lower[text.len] == '\0';
}

bool egress_http_refuse(struct egress_refusal *why, int status, const char *code, const char *text)
{
	*why = (struct egress_refusal){ .status = status, .code = code, .text = text };
	return false;
}

enum egress_parse egress_head_find(struct egress_head_scan *scan, struct koda_span bytes,
				   size_t *ret_len, struct egress_refusal *why)
{
	size_t end = bytes.len < EGRESS_HEAD_MAX ? bytes.len : EGRESS_HEAD_MAX;

	while (scan->at < end) {
		const char *from = bytes.ptr + scan->at;
		const char *lf = memchr(from, '\n', end - scan->at);
		size_t i;

		if (!lf) {
			scan->at = (uint32_t)end;
			break;
		}
		i = (size_t)(lf - bytes.ptr);
		scan->at = (uint32_t)i + 1;
		if (i == 0 || bytes.ptr[i - 1] != '\r') {
			egress_http_refuse(why, 400, "bare_lf", "a line ends without CR");
			return EGRESS_BAD;
		}
		if (i == 1) {
			egress_http_refuse(why, 400, "empty_line", "the first line is empty");
			return EGRESS_BAD;
		}
		if (bytes.ptr[i - 2] == '\n') {
			*ret_len = i + 1;
			return EGRESS_DONE;
		}
		if (++scan->lines > EGRESS_HEADERS_MAX + 1) {
			egress_http_refuse(why, 431, "too_many_headers",
					   "the request has more than 200 header lines");
			return EGRESS_BAD;
		}
	}
	if (end == EGRESS_HEAD_MAX) {
		egress_http_refuse(why, 431, "head_too_large",
				   "the request head is larger than 64 KiB");
		return EGRESS_BAD;
	}
	return EGRESS_MORE;
}

static bool bad_line(struct egress_refusal *why, const char *text)
{
	return egress_http_refuse(why, 400, "bad_request_line", text);
}

/* The version at the end of a request line or the beginning of a status line: 8 bytes. */
static bool read_version(const char *text, struct egress_head *head)
{
	if (memcmp(text, "HTTP/1.", 7) != 0 || (text[7] != '0' && text[7] != '1'))
		return false;
	head->minor = (unsigned int)(text[7] - '0');
	return true;
}

/* A head ends with an empty line, so a loop that stops at the first CR stays inside. */
static bool is_whole(struct koda_span bytes)
{
	return bytes.len >= 4 && bytes.len <= EGRESS_HEAD_MAX &&
	       memcmp(bytes.ptr + bytes.len - 4, "\r\n\r\n", 4) == 0;
}

/* "METHOD SP TARGET SP HTTP/1.x CRLF"; *ret_at is where the headers begin. */
static bool read_request_line(struct koda_span bytes, struct egress_head *head, size_t *ret_at,
			      struct egress_refusal *why)
{
	const char *p = bytes.ptr;
	const char *end = bytes.ptr + bytes.len;
	const char *start = p;

	while (egress_http_is(*p, EGRESS_IS_TOKEN))
		p++;
	if (p == start || *p != ' ')
		return bad_line(why, "the request does not begin with a method and one blank");
	if (p - start > EGRESS_METHOD_MAX)
		return bad_line(why, "the method is too long");
	head->method = (struct koda_span){ start, (size_t)(p - start) };
	start = ++p;
	while (egress_http_is(*p, EGRESS_IS_TARGET))
		p++;
	head->target = (struct koda_span){ start, (size_t)(p - start) };
	if (*p == '\r')
		return bad_line(why, "the request line has no version");
	if (*p != ' ' || p == start)
		return egress_http_refuse(why, 400, "bad_target",
					  "the request target has a character it may not have");
	p++;
	/* 8 bytes of version, CRLF, and the CRLF that ends the head. */
	if (end - p < 12 || p[8] != '\r' || p[9] != '\n' || !read_version(p, head))
		return egress_http_refuse(why, 400, "bad_version",
					  "only HTTP/1.0 and HTTP/1.1 are spoken here");
	*ret_at = (size_t)(p + 10 - bytes.ptr);
	return true;
}

static void head_init(struct egress_head *head)
{
	/* The header table is as long as count says; clearing it would cost more than the rest. */
	memset(head, 0, offsetof(struct egress_head, headers));
}

bool egress_head_request(struct koda_span bytes, struct egress_head *head,
			 struct egress_refusal *why)
{
	size_t at;

	head_init(head);
	if (!is_whole(bytes))
		return bad_line(why, "the head is not complete");
	if (!read_request_line(bytes, head, &at, why) ||
	    !egress_http_fields(bytes, at, head, why) || !egress_http_target(head, why))
		return false;
	if (head->form == EGRESS_FORM_AUTHORITY && head->framing != EGRESS_BODY_NONE)
		return egress_http_refuse(why, 400, "bad_framing", "CONNECT cannot have a body");
	return true;
}

/* "HTTP/1.x SP 3DIGIT [SP REASON] CRLF". */
static bool read_status_line(struct koda_span bytes, struct egress_head *head, size_t *ret_at)
{
	const char *p = bytes.ptr;
	const char *start;

	/* The shortest whole head: 12 bytes of line and two line ends. */
	if (bytes.len < 16 || !read_version(p, head) || p[8] != ' ')
		return false;
	for (int i = 9; i < 12; i++) {
		if (!koda_ascii_is_digit(p[i]))
			return false;
		head->status = head->status * 10 + (p[i] - '0');
	}
	p += 12;
	if (*p == ' ')
		p++;
	else if (*p != '\r')
		return false;
	start = p;
	while (egress_http_is(*p, EGRESS_IS_VALUE))
		p++;
	head->reason = (struct koda_span){ start, (size_t)(p - start) };
	if (p[0] != '\r' || p[1] != '\n')
		return false;
	*ret_at = (size_t)(p + 2 - bytes.ptr);
	return head->status >= 100;
}

bool egress_head_response(struct koda_span bytes, struct egress_head *head,
			  struct egress_refusal *why)
{
	size_t at;

	head_init(head);
	if (!is_whole(bytes) || !read_status_line(bytes, head, &at))
		return egress_http_refuse(why, 502, "bad_status_line",
					  "the origin's answer is not HTTP/1");
	if (!egress_http_fields(bytes, at, head, why)) {
		why->status = 502;
		return false;
	}
	return true;
}

enum egress_framing egress_head_response_body(const struct egress_head *response, bool to_head)
{
	if (to_head || response->status < 200 || response->status == 204 || response->status == 304)
		return EGRESS_BODY_NONE;
	return response->framing == EGRESS_BODY_NONE ? EGRESS_BODY_CLOSE : response->framing;
}
