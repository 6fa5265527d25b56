/* SPDX-License-Identifier: MIT */
#include "frame.h"

#include "base/error.h"

#include <stdint.h>

static size_t read_length(struct koda_span bytes)
{
	size_t length = 0;

	for (size_t i = 0; i < FSCOMPAT_FRAME_HEAD; i++)
		length = length << 8 | (unsigned char)bytes.ptr[i];
	return length;
}

int fscompat_frame_need(struct koda_span bytes, size_t *ret_need, struct koda_error *err)
{
	size_t length;

	if (bytes.len < FSCOMPAT_FRAME_HEAD) {
		*ret_need = FSCOMPAT_FRAME_HEAD - bytes.len;
		return KODA_OK;
	}
	length = read_length(bytes);
	if (length > FSCOMPAT_FRAME_MAX)
		return koda_fail(err, KODA_E_LIMIT, 0, "a message of %zu bytes is over 1 MiB",
				 length);
	*ret_need = FSCOMPAT_FRAME_HEAD + length - bytes.len;
	return KODA_OK;
}

struct koda_span fscompat_frame_payload(struct koda_span frame)
{
	return koda_span_skip(frame, FSCOMPAT_FRAME_HEAD);
}

void fscompat_frame_seal(struct koda_buf *frame)
{
	size_t length = frame->len - FSCOMPAT_FRAME_HEAD;

	for (size_t i = FSCOMPAT_FRAME_HEAD; i > 0; i--) {
		frame->ptr[i - 1] = (char)(length & 0xff);
		length >>= 8;
	}
}
