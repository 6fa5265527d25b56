/* SPDX-License-Identifier: MIT */
/* Frames of the older protocol: four bytes with the length, big-endian, then so much JSON. */
#ifndef FSCOMPAT_FRAME_H
#define FSCOMPAT_FRAME_H

#include "base/buf.h"

/* The most JSON of a frame, in both directions. */
#define FSCOMPAT_FRAME_MAX  ((size_t)1 << 20)
#define FSCOMPAT_FRAME_HEAD ((size_t)4)

/* Tells in *ret_need how many bytes are missing behind the first ones of a frame before it can be
 * looked at again; 0: it is complete. Fails: LIMIT. */
KODA_CHECK int fscompat_frame_need(struct koda_span bytes, size_t *ret_need,
				   struct koda_error *err);
/* Returns the JSON of a complete frame. */
struct koda_span fscompat_frame_payload(struct koda_span frame);
/* Writes the length into the head of a frame that is complete otherwise. */
void fscompat_frame_seal(struct koda_buf *frame);

#endif
