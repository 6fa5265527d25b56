/* SPDX-License-Identifier: MIT */
#include "proto/ident.h"

/* Compares the common length of both. */
static enum egress_ident begins(struct koda_span bytes, const char *text)
{
	size_t whole = strlen(text);
	size_t len = bytes.len < whole ? bytes.len : whole;

	if (len > 0 && memcmp(bytes.ptr, text, len) != 0)
		return EGRESS_IDENT_NO;
	return len == whole ? EGRESS_IDENT_YES : EGRESS_IDENT_MORE;
}

enum egress_ident egress_ident_client(struct koda_span bytes, size_t *ret_len)
{
	size_t most = bytes.len < EGRESS_IDENT_MAX ? bytes.len : EGRESS_IDENT_MAX;
	enum egress_ident begun = begins(bytes, "SSH-2.0-");

	for (size_t i = 0; begun == EGRESS_IDENT_YES && i < most; i++) {
		char c = bytes.ptr[i];
		bool ends = c == '\r' && i + 1 < most && bytes.ptr[i + 1] == '\n';

		if (c == '\n' || ends) {
			*ret_len = i + 1 + ends;
			return EGRESS_IDENT_YES;
		}
		if ((c < ' ' || c > '~') && (c != '\r' || i + 1 < most))
			return EGRESS_IDENT_NO;
	}
	if (begun == EGRESS_IDENT_YES)
		begun = most < EGRESS_IDENT_MAX ? EGRESS_IDENT_MORE : EGRESS_IDENT_NO;
	return begun;
}

enum egress_ident egress_ident_server(struct koda_span bytes)
{
	enum egress_ident now = begins(bytes, "SSH-2.0-");

	/* A server that supports version 1 too. */
	return now == EGRESS_IDENT_NO ? begins(bytes, "SSH-1.99") : now;
}
