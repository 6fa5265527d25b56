/* SPDX-License-Identifier: MIT */
/* Internals of the head parser, for http_*.c. Other files use http_head.h. */
#ifndef KODA_EGRESS_PROTO_HTTP_PARSE_H
#define KODA_EGRESS_PROTO_HTTP_PARSE_H

#include "proto/http_head.h"

/* Classes of bytes. */
#define EGRESS_IS_TOKEN  1U /* RFC 9110 tchar */
#define EGRESS_IS_VALUE  2U /* of a field's value: visible, blank, tab, obs-text */
#define EGRESS_IS_TARGET 4U /* of a request target: visible, read alike by all servers */

extern const uint8_t egress_http_class[256];

static inline bool egress_http_is(char c, unsigned int class_)
{
	return (egress_http_class[(unsigned char)c] & class_) != 0;
}

static inline bool egress_http_is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/* Compares text with lower, which is in lower case; ignores the case of ASCII letters. */
bool egress_http_same(struct koda_span text, const char *lower);

/* Fills in *why. Always returns false. */
bool egress_http_refuse(struct egress_refusal *why, int status, const char *code, const char *text);

/* Parses the header lines from offset at to the empty line that ends bytes, and evaluates framing
 * and Connection. head->minor is set. */
bool egress_http_fields(struct koda_span bytes, size_t at, struct egress_head *head,
			struct egress_refusal *why);

/* Parses the target and compares it with Host. method, target, minor and headers are set. */
bool egress_http_target(struct egress_head *head, struct egress_refusal *why);

#endif
