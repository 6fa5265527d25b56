/* SPDX-License-Identifier: MIT */
/*
 * T-70. The identification lines of SSH (RFC 4253, 4.2), one from each side. On web ports, where
 * servers for many hosts are found, SSH passes if both sides send one: a server that does is not an
 * HTTP server, and so opens no other host.
 */
#ifndef KODA_EGRESS_PROTO_IDENT_H
#define KODA_EGRESS_PROTO_IDENT_H

#include "base/buf.h"

/* Longest line, with CRLF. */
#define EGRESS_IDENT_MAX ((size_t)255)
/* Bytes that identify a server's line. */
#define EGRESS_IDENT_BEGIN ((size_t)8)

enum egress_ident {
	EGRESS_IDENT_NO = 0,
	EGRESS_IDENT_MORE, /* a prefix of such a line */
	EGRESS_IDENT_YES
};

/* Returns whether bytes begin with a client's line; *ret_len is its length with the line end. */
enum egress_ident egress_ident_client(struct koda_span bytes, size_t *ret_len);
/* Returns whether bytes begin with a server's line. Lines that a server may send before it do not
 * count. */
enum egress_ident egress_ident_server(struct koda_span bytes);

#endif
