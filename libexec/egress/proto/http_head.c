/* SPDX-License-Identifier: MIT */
#include "proto/http_head.h"

#include "base/ascii.h"
#include "proto/http_parse.h"

static enum egress_parse find(struct egress_head_scan *scan, struct koda_span bytes,
			      struct egress_refusal *why)
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
		if (bytes.ptr[i - 2] == '\n')
			return EGRESS_DONE;
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

enum egress_parse egress_head_find(struct egress_head_scan *scan, struct koda_span bytes,
				   size_t *ret_len, struct egress_refusal *why)
{
	enum egress_parse parse;

	if (scan->latch.fallen) {
		parse = (enum egress_parse)scan->latch.answer;
		egress_http_refuse(why, 400, "refused", "this head was refused before");
	} else {
		parse = find(scan, bytes, why);
		if (parse != EGRESS_MORE)
			(void)egress_latch_fall(&scan->latch, parse);
	}
	if (parse == EGRESS_DONE)
		*ret_len = scan->at;
	return parse;
}

static bool bad_line(struct egress_refusal *why, const char *text)
{
	return egress_http_refuse(why, 400, "bad_request_line", text);
}

/* Parses the version in a request line or status line: 8 bytes. */
static bool read_version(const char *text, struct egress_head *head)
{
	if (memcmp(text, "HTTP/1.", 7) != 0 || (text[7] != '0' && text[7] != '1'))
		return false;
	head->minor = (unsigned int)(text[7] - '0');
	return true;
}

/* Returns whether bytes end with an empty line, so that a loop that stops at CR stays inside. */
static bool is_whole(struct koda_span bytes)
{
	return bytes.len >= 4 && bytes.len <= EGRESS_HEAD_MAX &&
	       memcmp(bytes.ptr + bytes.len - 4, "\r\n\r\n", 4) == 0;
}

/* Parses "METHOD SP TARGET SP HTTP/1.x CRLF". *ret_at is the offset of the first header. */
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
	/* Version (8 bytes), CRLF, and the CRLF that ends the head. */
	if (end - p < 12 || p[8] != '\r' || p[9] != '\n' || !read_version(p, head))
		return egress_http_refuse(why, 400, "bad_version",
					  "only HTTP/1.0 and HTTP/1.1 are spoken here");
	*ret_at = (size_t)(p + 10 - bytes.ptr);
	return true;
}

static void head_init(struct egress_head *head)
{
	/* Clearing the table of headers would be expensive; count says how many are valid. */
	memset(head, 0, offsetof(struct egress_head, headers));
}

bool egress_head_request(struct koda_span bytes, struct egress_head *head,
			 struct egress_refusal *why)
{
	size_t at = 0;

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

/* Parses "HTTP/1.x SP 3DIGIT [SP REASON] CRLF". */
static bool read_status_line(struct koda_span bytes, struct egress_head *head, size_t *ret_at)
{
	const char *p = bytes.ptr;
	const char *start;

	/* The shortest head: 12 bytes of status line, and CRLF CRLF. */
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
