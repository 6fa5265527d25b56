/* SPDX-License-Identifier: MIT */
/* Classes of bytes, comparison and refusals, for the files of the head parser. */
#include "proto/http_parse.h"

#include "base/ascii.h"

#define TOKEN_VALUE        (EGRESS_IS_TOKEN | EGRESS_IS_VALUE)
#define TOKEN_VALUE_TARGET (EGRESS_IS_TOKEN | EGRESS_IS_VALUE | EGRESS_IS_TARGET)
#define VALUE_TARGET       (EGRESS_IS_VALUE | EGRESS_IS_TARGET)

/* Not in targets: blanks and control characters, which end them; '#', which targets do not contain;
 * '"', '<', '>' and '\', which some servers convert. */
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
