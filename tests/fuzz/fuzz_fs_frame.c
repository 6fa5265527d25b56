/* SPDX-License-Identifier: MIT */
/*
 * Frames of the file worker, from a stream that either side has sent. A frame that is accepted lies
 * inside the bytes, and writing it again gives these bytes. The first byte chooses the side; the
 * magic is put right, so that inputs get past it.
 */
#include "target.h"

#include "wire/fs_frame.h"

#include <string.h>

static void check_again(const struct koda_fs_frame *frame, struct koda_span bytes)
{
	koda_auto_buf struct koda_buf again = KODA_BUF_INIT(KODA_FS_FRAME_MAX);

	CHECK(koda_fs_frame_add(&again, frame) == KODA_OK);
	CHECK(koda_span_eq(koda_buf_span(&again), bytes));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint32_t magic = KODA_FS_MAGIC;
	enum koda_fs_side side;
	struct koda_span rest;
	char *bytes;

	if (size < 1)
		return 0;
	side = data[0] & 1 ? KODA_FS_WORKER : KODA_FS_CLIENT;
	rest.len = size - 1;
	bytes = malloc(rest.len ? rest.len : 1);
	CHECK(bytes);
	memcpy(bytes, data + 1, rest.len);
	rest.ptr = bytes;
	for (;;) {
		struct koda_fs_frame frame;
		enum koda_fs_found found;
		size_t len;

		if (rest.len >= sizeof(magic))
			memcpy(bytes + (rest.ptr - bytes), &magic, sizeof(magic));
		found = koda_fs_frame_read(rest, side, &frame, &len);
		if (found == KODA_FS_FOUND_MORE)
			CHECK(len > rest.len && len <= KODA_FS_FRAME_MAX);
		if (found != KODA_FS_FOUND_FRAME && found != KODA_FS_FOUND_WRONG)
			break;
		CHECK(len <= rest.len);
		CHECK(frame.kind < KODA_FS_KIND_COUNT);
		for (size_t i = 0; i < KODA_FS_TEXTS; i++)
			CHECK(frame.text[i].ptr >= rest.ptr &&
			      frame.text[i].ptr + frame.text[i].len <= rest.ptr + len);
		check_again(&frame, (struct koda_span){ rest.ptr, len });
		rest = koda_span_skip(rest, len);
	}
	free(bytes);
	return 0;
}
