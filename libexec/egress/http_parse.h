/* SPDX-License-Identifier: MIT */
/* What the files of the head parser share; for everyone else there is http_head.h. */
#ifndef EGRESS_HTTP_PARSE_H
#define EGRESS_HTTP_PARSE_H

#include "http_head.h"

/* Classes of bytes. */
#define EGRESS_IS_TOKEN  1U /* RFC 9110 tchar */
#define EGRESS_IS_VALUE  2U /* of a field's value: visible, blank, tab, obs-text */
#define EGRESS_IS_TARGET 4U /* of a request target: visible, and nothing that readers dispute */

extern const uint8_t egress_http_class[256];

static inline bool egress_http_is(char c, unsigned int class_)
{
	return (egress_http_class[(unsigned char)c] & class_) != 0;
}

static inline bool egress_http_is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/* Equal but for the case of ASCII letters; lower is in lower case. */
bool egress_http_same(struct koda_span text, const char *lower);

/* Fills in *why; returns false. */
bool egress_http_refuse(struct egress_refusal *why, int status, const char *code, const char *text);

/* Header lines from at to the empty line that has to end bytes, and what they say about framing and
 * connection. head->minor is set. */
bool egress_http_fields(struct koda_span bytes, size_t at, struct egress_head *head,
			struct egress_refusal *why);

/* Takes the target apart and compares it with Host. method, target, minor and headers are set. */
bool egress_http_target(struct egress_head *head, struct egress_refusal *why);

#endif
