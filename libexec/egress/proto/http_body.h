/* SPDX-License-Identifier: MIT */
/*
 * Parses bodies. Only payload comes out; sizes, extensions and trailers of a chunked body are
 * checked and removed. A chunked message gets new chunks, so the next parser never sees framing by
 * the sender.
 */
#ifndef KODA_EGRESS_PROTO_HTTP_BODY_H
#define KODA_EGRESS_PROTO_HTTP_BODY_H

#include "proto/http_head.h"

#define EGRESS_CHUNK_DIGITS  16             /* hexadecimal digits of a chunk size */
#define EGRESS_CHUNK_EXT_MAX 256            /* bytes of extensions after one size */
#define EGRESS_TRAILER_MAX   ((size_t)8192) /* bytes of all trailer lines */
#define EGRESS_TRAILER_NAME  64             /* bytes of one trailer's name */

/* Payload of one chunk that the proxy writes, and further bytes that may be written with it. */
#define EGRESS_BLOCK_MAX   ((size_t)32768)
#define EGRESS_BLOCK_EXTRA ((size_t)32)

/* Private to http_body.c. */
struct egress_body {
	enum egress_framing framing;
	struct egress_latch latch; /* egress_parse */
	uint8_t state;
	uint16_t line;    /* bytes of the chunk line or trailer name so far */
	uint32_t trailer; /* bytes of trailers so far */
	uint64_t left;    /* of the length or the chunk */
	char name[EGRESS_TRAILER_NAME];
};

void egress_body_init(struct egress_body *body, enum egress_framing framing, uint64_t length);

/* Consumes bytes of *in, up to the end of the body, of *in, or of one run of payload, which becomes
 * *ret_data (at most most bytes, possibly none). MORE: the body continues. DONE: it ends after
 * *ret_data. BAD: it is refused, permanently; *ret_data is empty. */
enum egress_parse egress_body_read(struct egress_body *body, struct koda_span *in, size_t most,
				   struct koda_span *ret_data);

/* Like egress_body_read, with all available payload, up to most bytes, as one new chunk, followed
 * by the end of the body on DONE. *ret_chunk lies in block and may be empty; block has room for
 * most + EGRESS_BLOCK_EXTRA bytes. *ret_len is the length of the payload. BAD: *ret_chunk is empty,
 * even if valid payload came before the invalid byte. */
enum egress_parse egress_body_rechunk(struct egress_body *body, struct koda_span *in, size_t most,
				      char *block, struct koda_span *ret_chunk, size_t *ret_len);

/* Returns whether the whole body was read. */
bool egress_body_is_done(const struct egress_body *body);
/* Returns whether the body is complete if the connection ends now. */
bool egress_body_may_end(const struct egress_body *body);

#endif
