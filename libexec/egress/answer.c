/* SPDX-License-Identifier: MIT */
/* T-71. Text from rules and requests must not become lines of an answer. */
#include "answer.h"

#include <stdio.h>

/* What is left of a long rule or host. */
#define SHOWN_MAX 128

static const char *phrase_of(int status)
{
	switch (status) {
	case 400:
		return "Bad Request";
	case 403:
		return "Forbidden";
	case 405:
		return "Method Not Allowed";
	case 408:
		return "Request Timeout";
	case 421:
		return "Misdirected Request";
	case 431:
		return "Request Header Fields Too Large";
	case 502:
		return "Bad Gateway";
	case 503:
		return "Service Unavailable";
	case 504:
		return "Gateway Timeout";
	default:
		return NULL;
	}
}

/* Visible ASCII and inner blanks stay, every other byte becomes %XX. */
static void show(struct koda_span text, char out[static 3 * SHOWN_MAX + 1])
{
	static const char digits[] = "0123456789ABCDEF";
	size_t len = text.len < SHOWN_MAX ? text.len : SHOWN_MAX;
	size_t at = 0;

	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)text.ptr[i];
		bool inner = i > 0 && i + 1 < len;

		if ((c > ' ' && c < 0x7f) || (c == ' ' && inner)) {
			out[at++] = (char)c;
		} else {
			out[at++] = '%';
			out[at++] = digits[c >> 4];
			out[at++] = digits[c & 15];
		}
	}
	out[at] = '\0';
}

/* What the reader can do about it. */
static const char *advice_for(int status)
{
	switch (status) {
	case 403:
		return "The sandbox's policy decides this; trying again will not help. Use an "
		       "allowed "
		       "host, or ask the user to allow this one.";
	case 502:
	case 503:
	case 504:
		return "The destination was allowed but could not be reached; trying again later "
		       "may "
		       "help.";
	default:
		return "The request was not forwarded.";
	}
}

size_t egress_answer(const struct egress_refusal *why, struct koda_span host, bool head_only,
		     char out[static EGRESS_ANSWER_MAX])
{
	const char *phrase = phrase_of(why->status);
	int status = phrase ? why->status : 502;
	char code[3 * SHOWN_MAX + 1];
	char rule[3 * SHOWN_MAX + 1];
	char name[3 * SHOWN_MAX + 1];
	char body[EGRESS_ANSWER_MAX / 2];
	int body_len;
	int head_len;

	show(koda_span_of(why->code ? why->code : "unknown"), code);
	show(why->rule, rule);
	show(host, name);
	body_len = snprintf(body, sizeof(body), "koda-sandbox: %s%s%s%s%s%s\n%s\n", code,
			    name[0] ? ": " : "", name, why->text ? ": " : "",
			    why->text ? why->text : "", ".", advice_for(status));
	if (body_len < 0 || (size_t)body_len >= sizeof(body))
		body_len = (int)sizeof(body) - 1;
	head_len = snprintf(out, EGRESS_ANSWER_MAX,
			    "HTTP/1.1 %d %s\r\nX-Koda-Reason: %s\r\n%s%s%s"
			    "Content-Type: text/plain; charset=utf-8\r\nContent-Length: %d\r\n"
			    "Connection: close\r\n\r\n%s",
			    status, phrase ? phrase : "Bad Gateway", code,
			    rule[0] ? "X-Koda-Rule: " : "", rule, rule[0] ? "\r\n" : "", body_len,
			    head_only ? "" : body);
	return head_len < 0 ? 0 : (size_t)head_len;
}

struct koda_span egress_answer_established(void)
{
	return koda_span_of("HTTP/1.1 200 Connection established\r\n\r\n");
}
