/* SPDX-License-Identifier: MIT */
/* T-70. Parses header lines, and those headers that determine framing and forwarding. */
#include "proto/http_parse.h"

#include "base/ascii.h"

/* Limit of tokens in Connection. */
#define CONNECTION_TOKENS_MAX 32

static bool bad_field(struct egress_refusal *why, const char *text)
{
	return egress_http_refuse(why, 400, "bad_header", text);
}

static bool bad_framing(struct egress_refusal *why, const char *text)
{
	return egress_http_refuse(why, 400, "bad_framing", text);
}

enum egress_name egress_http_field_name(struct koda_span name)
{
	static const struct {
		const char *lower;
		enum egress_name kind;
	} known[] = {
		{ "host", EGRESS_NAME_HOST },
		{ "content-length", EGRESS_NAME_CONTENT_LENGTH },
		{ "transfer-encoding", EGRESS_NAME_TRANSFER_ENCODING },
		{ "connection", EGRESS_NAME_CONNECTION },
		{ "upgrade", EGRESS_NAME_UPGRADE },
		{ "expect", EGRESS_NAME_EXPECT },
		{ "keep-alive", EGRESS_NAME_HOP },
		{ "proxy-connection", EGRESS_NAME_HOP },
		{ "proxy-authorization", EGRESS_NAME_HOP },
		{ "proxy-authenticate", EGRESS_NAME_HOP },
		{ "te", EGRESS_NAME_HOP },
		{ "trailer", EGRESS_NAME_HOP },
		{ "http2-settings", EGRESS_NAME_HOP },
	};
	/* Most headers are not in the table; their length or first letter shows it. */
	static const uint32_t lengths = 1U << 2 | 1U << 4 | 1U << 6 | 1U << 7 | 1U << 10 |
					1U << 14 | 1U << 16 | 1U << 17 | 1U << 18 | 1U << 19;

	if (name.len > 19 || !(lengths >> name.len & 1U))
		return EGRESS_NAME_OTHER;
	for (size_t i = 0; i < KODA_ARRAY_LEN(known); i++)
		if (koda_ascii_lower(name.ptr[0]) == known[i].lower[0] &&
		    egress_http_same(name, known[i].lower))
			return known[i].kind;
	return EGRESS_NAME_OTHER;
}

static bool read_length(struct koda_span value, struct egress_head *head,
			struct egress_refusal *why)
{
	uint64_t length = 0;

	if (value.len == 0 || value.len > 18)
		return bad_framing(why, "Content-Length is not a number of sane size");
	for (size_t i = 0; i < value.len; i++) {
		if (!koda_ascii_is_digit(value.ptr[i]))
			return bad_framing(why, "Content-Length is not a number");
		length = length * 10 + (uint64_t)(value.ptr[i] - '0');
	}
	if (head->framing != EGRESS_BODY_NONE)
		return bad_framing(why, "more than one header says how long the body is");
	head->framing = EGRESS_BODY_LENGTH;
	head->length = length;
	return true;
}

static bool read_coding(struct koda_span value, struct egress_head *head,
			struct egress_refusal *why)
{
	if (head->framing != EGRESS_BODY_NONE)
		return bad_framing(why, "more than one header says how long the body is");
	if (head->minor == 0)
		return bad_framing(why, "HTTP/1.0 has no Transfer-Encoding");
	if (!egress_http_same(value, "chunked"))
		return bad_framing(why, "the only Transfer-Encoding understood is chunked");
	head->framing = EGRESS_BODY_CHUNKED;
	return true;
}

/* Parses the header line at *p, and moves *p to the next one. The head ends with CRLF CRLF, so
 * every loop finds a byte to stop at. */
static bool read_line(const char **p, struct egress_header *header, struct egress_refusal *why)
{
	const char *s = *p;
	const char *start = s;
	const char *end;

	while (egress_http_is(*s, EGRESS_IS_TOKEN))
		s++;
	if (s == start)
		return egress_http_is_blank(*s)
			       ? egress_http_refuse(why, 400, "obs_fold",
						    "a header is folded over several lines")
			       : bad_field(why, "a header has no name");
	if (*s != ':')
		return bad_field(why, "a header's name has a character it may not have");
	header->name = (struct koda_span){ start, (size_t)(s - start) };
	s++;
	while (egress_http_is_blank(*s))
		s++;
	start = s;
	while (egress_http_is(*s, EGRESS_IS_VALUE))
		s++;
	end = s;
	if (s[0] != '\r' || s[1] != '\n')
		return s[0] == '\r'
			       ? egress_http_refuse(why, 400, "bare_cr", "a CR stands without LF")
			       : bad_field(why, "a header's value has a control character");
	while (end > start && egress_http_is_blank(end[-1]))
		end--;
	header->value = (struct koda_span){ start, (size_t)(end - start) };
	*p = s + 2;
	return true;
}

/* Removes the next element of a comma-separated list. Returns false at its end. */
static bool next_element(struct koda_span *list, struct koda_span *ret_element)
{
	while (list->len > 0 && (*list->ptr == ',' || egress_http_is_blank(*list->ptr)))
		*list = koda_span_skip(*list, 1);
	*ret_element = (struct koda_span){ list->ptr, 0 };
	while (list->len > 0 && *list->ptr != ',') {
		if (!egress_http_is_blank(*list->ptr))
			ret_element->len = (size_t)(list->ptr - ret_element->ptr) + 1;
		*list = koda_span_skip(*list, 1);
	}
	return ret_element->len > 0;
}

/* Handles a token of Connection: marks the headers that it names. */
static bool read_option(struct koda_span token, struct egress_head *head, bool *upgrade,
			struct egress_refusal *why)
{
	enum egress_name kind = egress_http_field_name(token);

	for (size_t i = 0; i < token.len; i++)
		if (!egress_http_is(token.ptr[i], EGRESS_IS_TOKEN))
			return bad_field(why, "Connection has something that is not a token");
	if (egress_http_same(token, "close"))
		head->close = true;
	if (kind == EGRESS_NAME_UPGRADE)
		*upgrade = true;
	/* Without these the message would have another meaning. */
	if (kind == EGRESS_NAME_HOST || kind == EGRESS_NAME_CONTENT_LENGTH ||
	    kind == EGRESS_NAME_TRANSFER_ENCODING)
		return bad_framing(why, "Connection names a header that has to stay");
	for (size_t i = 0; i < head->count; i++) {
		struct egress_header *header = &head->headers[i];

		if (header->name.len == token.len &&
		    strncasecmp(header->name.ptr, token.ptr, token.len) == 0)
			header->hop = true;
	}
	return true;
}

/* Allows upgrades to WebSocket only: the proxy does not check what follows, and HTTP/2 or TLS could
 * carry requests for any host. */
static bool may_upgrade(struct koda_span protocols)
{
	struct koda_span element;
	bool any = false;

	while (next_element(&protocols, &element)) {
		if (element.len != 9 || strncasecmp(element.ptr, "websocket", 9) != 0)
			return false;
		any = true;
	}
	return any;
}

/* Evaluates Connection and Upgrade, after all headers were read. */
static bool read_connection(struct egress_head *head, struct egress_refusal *why)
{
	size_t upgrades = 0;
	bool upgrade = false;
	size_t tokens = 0;
	bool allowed = false;

	for (size_t i = 0; i < head->count; i++) {
		struct koda_span rest = head->headers[i].value;
		struct koda_span token;

		if (head->headers[i].kind == EGRESS_NAME_UPGRADE) {
			upgrades++;
			allowed = may_upgrade(rest);
		}
		if (head->headers[i].kind != EGRESS_NAME_CONNECTION)
			continue;
		while (next_element(&rest, &token)) {
			if (++tokens > CONNECTION_TOKENS_MAX)
				return bad_field(why, "Connection names too many headers");
			if (!read_option(token, head, &upgrade, why))
				return false;
		}
	}
	head->upgrade = upgrade && upgrades == 1 && allowed && head->minor == 1 &&
			head->length == 0 && head->framing != EGRESS_BODY_CHUNKED;
	if (head->minor == 0)
		head->close = true;
	return true;
}

/* Returns whether a tab follows a value. Some parsers take it for a part of the value, so it is
 * refused in headers about framing. The byte after a value is a blank or CR. */
static bool has_tab_behind(struct koda_span value)
{
	const char *p = value.ptr + value.len;

	while (*p == ' ')
		p++;
	return *p == '\t';
}

static bool read_meaning(const struct egress_header *header, struct egress_head *head,
			 bool *connection, struct egress_refusal *why)
{
	switch (header->kind) {
	case EGRESS_NAME_CONTENT_LENGTH:
		if (has_tab_behind(header->value))
			return bad_framing(why, "Content-Length has a tab behind it");
		return read_length(header->value, head, why);
	case EGRESS_NAME_TRANSFER_ENCODING:
		if (has_tab_behind(header->value))
			return bad_framing(why, "Transfer-Encoding has a tab behind it");
		return read_coding(header->value, head, why);
	case EGRESS_NAME_CONNECTION:
		*connection = true;
		break;
	case EGRESS_NAME_EXPECT:
		head->expect = egress_http_same(header->value, "100-continue");
		break;
	case EGRESS_NAME_OTHER:
	case EGRESS_NAME_HOST:
	case EGRESS_NAME_UPGRADE:
	case EGRESS_NAME_HOP:
		break;
	}
	return true;
}

bool egress_http_fields(struct koda_span bytes, size_t at, struct egress_head *head,
			struct egress_refusal *why)
{
	const char *p = bytes.ptr + at;
	const char *last = bytes.ptr + bytes.len - 2; /* the empty line */
	bool connection = false;

	head->close = head->minor == 0;
	while (p < last) {
		struct egress_header *header = &head->headers[head->count];

		if (*p == '\r')
			return egress_http_refuse(why, 400, "bare_cr", "a CR stands without LF");
		if (head->count == EGRESS_HEADERS_MAX)
			return egress_http_refuse(why, 431, "too_many_headers",
						  "the request has more than 200 header lines");
		if (!read_line(&p, header, why))
			return false;
		header->kind = egress_http_field_name(header->name);
		header->hop = false;
		head->count++;
		if (header->kind != EGRESS_NAME_OTHER &&
		    !read_meaning(header, head, &connection, why))
			return false;
	}
	return !connection || read_connection(head, why);
}
