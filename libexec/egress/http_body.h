/* SPDX-License-Identifier: MIT */
/*
 * Where a body ends. The bytes are counted and checked, never copied or changed: what belongs to
 * the body is passed on as it came, chunk sizes and trailers included.
 */
#ifndef EGRESS_HTTP_BODY_H
#define EGRESS_HTTP_BODY_H

#include "http_head.h"

#define EGRESS_CHUNK_DIGITS  16             /* hexadecimal digits of a chunk size */
#define EGRESS_CHUNK_EXT_MAX 256            /* bytes of extensions after one size */
#define EGRESS_TRAILER_MAX   ((size_t)8192) /* bytes of all trailer lines */
#define EGRESS_TRAILER_NAME  64             /* bytes of one trailer's name */

struct egress_body {
	enum egress_framing framing;
	uint8_t state;
	uint16_t line;    /* bytes of the chunk line or trailer name so far */
	uint32_t trailer; /* bytes of trailers so far */
	uint64_t left;    /* of the length or the chunk */
	char name[EGRESS_TRAILER_NAME];
};

void egress_body_init(struct egress_body *body, enum egress_framing framing, uint64_t length);

/* *ret_used bytes at the front of in belong to the body. MORE: all of them did, and the body goes
 * on. DONE: it ended there. BAD: the byte after them is wrong, nothing more may be passed on. */
enum egress_parse egress_body_feed(struct egress_body *body, struct koda_span in, size_t *ret_used);

/* Is the body complete, or would it be if the connection ended now? */
bool egress_body_may_end(const struct egress_body *body);

#endif
