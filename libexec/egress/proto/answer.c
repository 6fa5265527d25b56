/* SPDX-License-Identifier: MIT */
/* T-71. Text from rules and requests must not add lines to an answer. */
#include "proto/answer.h"

#include "proto/http_status.h"

#include <stdio.h>

/* Bytes of a rule or host in an answer. */
#define SHOWN_MAX 128

/* Copies visible ASCII and inner blanks; every other byte becomes %XX. */
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

size_t egress_answer(const struct egress_refusal *why, struct koda_span host, bool head_only,
		     char out[static EGRESS_ANSWER_MAX])
{
	const struct egress_http_status *known = egress_http_status_find(why->status);
	const struct egress_http_status *status = known ? known : egress_http_status_find(502);
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
			    why->text ? why->text : "", ".", status->advice);
	if (body_len < 0 || (size_t)body_len >= sizeof(body))
		body_len = (int)sizeof(body) - 1;
	head_len = snprintf(out, EGRESS_ANSWER_MAX,
			    "HTTP/1.1 %d %s\r\nX-Koda-Reason: %s\r\n%s%s%s"
			    "Content-Type: text/plain; charset=utf-8\r\nContent-Length: %d\r\n"
			    "Connection: close\r\n\r\n%s",
			    status->status, status->phrase, code, rule[0] ? "X-Koda-Rule: " : "",
			    rule, rule[0] ? "\r\n" : "", body_len, head_only ? "" : body);
	return head_len < 0 ? 0 : (size_t)head_len;
}

struct koda_span egress_answer_established(void)
{
	return koda_span_of("HTTP/1.1 200 Connection established\r\n\r\n");
}
