/* SPDX-License-Identifier: MIT */
/* Frames of the file worker: what is written is what is read, and nothing else is a frame.
 */
#include "koda_test.h"

#include "wire/fs_frame.h"

#define ROOM ((size_t)4 << 20)

/* Reads from a copy of exactly len bytes, so that a sanitizer sees a read of one byte more. */
static enum koda_fs_found read_exact(const char *bytes, size_t len, enum koda_fs_side side)
{
	char *copy = malloc(len ? len : 1);
	struct koda_fs_frame frame;
	enum koda_fs_found found;
	size_t used;

	assert_non_null(copy);
	memcpy(copy, bytes, len);
	found = koda_fs_frame_read((struct koda_span){ copy, len }, side, &frame, &used);
	free(copy);
	return found;
}

static struct koda_fs_frame request(enum koda_fs_op op, const char *a, const char *b, const char *c)
{
	return (struct koda_fs_frame){
		.kind = KODA_FS_REQUEST,
		.code = op,
		.id = 7,
		.text = { koda_span_of(a), koda_span_of(b), koda_span_of(c) },
	};
}

static enum koda_fs_found sent(const struct koda_fs_frame *frame, enum koda_fs_side side)
{
	koda_auto_buf struct koda_buf out = KODA_BUF_INIT(ROOM);

	assert_int_equal(koda_fs_frame_add(&out, frame), KODA_OK);
	return read_exact(out.ptr, out.len, side);
}

static void what_is_written_is_read(void **state)
{
	koda_auto_buf struct koda_buf out = KODA_BUF_INIT(ROOM);
	struct koda_fs_frame edit = request(KODA_FS_OP_EDIT, "/a/\xff\n%", "old", "");
	struct koda_fs_frame ping = request(KODA_FS_OP_PING, "", "", "");
	struct koda_fs_frame read;
	size_t len;

	(void)state;
	edit.flags = KODA_FS_ALL | KODA_FS_EXPECT;
	for (size_t i = 0; i < KODA_FS_NUMBERS; i++)
		edit.n[i] = UINT64_MAX - i;
	assert_int_equal(koda_fs_frame_add(&out, &edit), KODA_OK);
	assert_int_equal(koda_fs_frame_add(&out, &ping), KODA_OK);
	assert_int_equal(koda_fs_frame_read(koda_buf_span(&out), KODA_FS_CLIENT, &read, &len),
			 KODA_FS_FOUND_FRAME);
	assert_int_equal(read.code, KODA_FS_OP_EDIT);
	assert_int_equal(read.flags, edit.flags);
	assert_int_equal(read.id, 7);
	assert_memory_equal(read.n, edit.n, sizeof(read.n));
	KODA_ASSERT_SPAN(read.text[0], "/a/\xff\n%");
	KODA_ASSERT_SPAN(read.text[1], "old");
	assert_int_equal(read.text[2].len, 0);
	assert_int_equal(koda_fs_frame_read(koda_span_skip(koda_buf_span(&out), len),
					    KODA_FS_CLIENT, &read, &len),
			 KODA_FS_FOUND_FRAME);
	assert_int_equal(read.code, KODA_FS_OP_PING);
}

/* Every cut of a frame asks for more bytes, and no cut is taken for a frame. */
static void a_frame_that_is_cut_is_awaited(void **state)
{
	koda_auto_buf struct koda_buf out = KODA_BUF_INIT(ROOM);
	struct koda_fs_frame frame = request(KODA_FS_OP_RENAME, "a", "b", "");

	(void)state;
	assert_int_equal(koda_fs_frame_add(&out, &frame), KODA_OK);
	for (size_t len = 0; len < out.len; len++)
		assert_int_equal(read_exact(out.ptr, len, KODA_FS_CLIENT), KODA_FS_FOUND_MORE);
	assert_int_equal(read_exact(out.ptr, out.len, KODA_FS_CLIENT), KODA_FS_FOUND_FRAME);
}

/* A request that is malformed as a whole is refused alone: the frame after it can be read. */
static void a_malformed_request_is_wrong(void **state)
{
	static char name[5001];
	struct koda_fs_frame frame = request(KODA_FS_OP_COUNT, "", "", "");

	(void)state;
	assert_int_equal(sent(&frame, KODA_FS_CLIENT), KODA_FS_FOUND_WRONG); /* unknown */
	frame = request(KODA_FS_OP_STAT, "", "", "");
	assert_int_equal(sent(&frame, KODA_FS_CLIENT), KODA_FS_FOUND_WRONG); /* no path */
	frame = request(KODA_FS_OP_STAT, "a", "b", "");
	assert_int_equal(sent(&frame, KODA_FS_CLIENT), KODA_FS_FOUND_WRONG); /* a text too many */
	frame = request(KODA_FS_OP_STAT, "a", "", "");
	frame.flags = KODA_FS_RECURSIVE;
	assert_int_equal(sent(&frame, KODA_FS_CLIENT), KODA_FS_FOUND_WRONG); /* another's flag */
	frame.flags = KODA_FS_FOLLOW;
	assert_int_equal(sent(&frame, KODA_FS_CLIENT), KODA_FS_FOUND_FRAME);
	frame.n[2] = 1;
	assert_int_equal(sent(&frame, KODA_FS_CLIENT), KODA_FS_FOUND_WRONG); /* unused number */
	frame = request(KODA_FS_OP_STAT, "a", "", "");
	frame.text[0] = (struct koda_span){ "a\0b", 3 };
	assert_int_equal(sent(&frame, KODA_FS_CLIENT), KODA_FS_FOUND_WRONG); /* NUL */
	memset(name, 'x', 5000);
	frame = request(KODA_FS_OP_STAT, name, "", "");
	assert_int_equal(sent(&frame, KODA_FS_CLIENT), KODA_FS_FOUND_WRONG); /* too long */
	name[4095] = '\0';
	frame = request(KODA_FS_OP_STAT, name, "", "");
	assert_int_equal(sent(&frame, KODA_FS_CLIENT), KODA_FS_FOUND_FRAME);
}

static void sides_have_kinds_of_their_own(void **state)
{
	static const enum koda_fs_kind from_client[] = { KODA_FS_REQUEST, KODA_FS_CANCEL };
	static const enum koda_fs_kind from_worker[] = { KODA_FS_REPLY };

	(void)state;
	KODA_EACH(kind, from_client) {
		struct koda_fs_frame frame = { .kind = *kind, .id = 1 };

		assert_int_equal(sent(&frame, KODA_FS_CLIENT), KODA_FS_FOUND_FRAME);
		assert_int_equal(sent(&frame, KODA_FS_WORKER), KODA_FS_FOUND_LOST);
	}
	KODA_EACH(kind, from_worker) {
		struct koda_fs_frame frame = { .kind = *kind, .id = 1 };

		assert_int_equal(sent(&frame, KODA_FS_WORKER), KODA_FS_FOUND_FRAME);
		assert_int_equal(sent(&frame, KODA_FS_CLIENT), KODA_FS_FOUND_LOST);
	}
}

/* Every bit of the header that is turned either still gives a frame of this length, or is noticed;
 * those that the framing depends on are noticed at once. */
static void framing_that_is_lost_is_noticed(void **state)
{
	koda_auto_buf struct koda_buf out = KODA_BUF_INIT(ROOM);
	struct koda_fs_frame frame = request(KODA_FS_OP_STAT, "a", "", "");

	(void)state;
	assert_int_equal(koda_fs_frame_add(&out, &frame), KODA_OK);
	for (size_t bit = 0; bit < 64; bit++) { /* magic and length */
		out.ptr[bit / 8] ^= (char)(1 << bit % 8);
		assert_int_equal(read_exact(out.ptr, out.len, KODA_FS_CLIENT), KODA_FS_FOUND_LOST);
		out.ptr[bit / 8] ^= (char)(1 << bit % 8);
	}
	for (size_t bit = 8 * offsetof(struct koda_fs_header, len);
	     bit < 8 * sizeof(struct koda_fs_header); bit++) {
		out.ptr[bit / 8] ^= (char)(1 << bit % 8);
		assert_int_equal(read_exact(out.ptr, out.len, KODA_FS_CLIENT), KODA_FS_FOUND_LOST);
		out.ptr[bit / 8] ^= (char)(1 << bit % 8);
	}
}

static void versions_must_be_equal(void **state)
{
	struct koda_fs_frame hello = { .kind = KODA_FS_HELLO, .n = { KODA_FS_VERSION } };

	(void)state;
	assert_int_equal(sent(&hello, KODA_FS_CLIENT), KODA_FS_FOUND_FRAME);
	assert_int_equal(sent(&hello, KODA_FS_WORKER), KODA_FS_FOUND_FRAME);
	hello.n[0]++;
	assert_int_equal(sent(&hello, KODA_FS_CLIENT), KODA_FS_FOUND_LOST);
	hello.n[0] = KODA_FS_VERSION;
	hello.id = 1;
	assert_int_equal(sent(&hello, KODA_FS_CLIENT), KODA_FS_FOUND_LOST);
}

/* Ceilings hold on both sides: what is too large is not written, and not awaited. */
static void ceilings_hold(void **state)
{
	koda_auto_buf struct koda_buf out = KODA_BUF_INIT(ROOM);
	koda_auto_free char *large = calloc(1, KODA_FS_TEXT_MAX + 1);
	struct koda_fs_frame edit = request(KODA_FS_OP_EDIT, "a", "", "");
	struct koda_fs_frame data = { .kind = KODA_FS_DATA, .id = 1 };

	(void)state;
	assert_non_null(large);
	edit.text[1] = (struct koda_span){ large, KODA_FS_TEXT_MAX - 1 };
	assert_int_equal(sent(&edit, KODA_FS_CLIENT), KODA_FS_FOUND_FRAME);
	edit.text[1].len++;
	assert_int_equal(koda_fs_frame_add(&out, &edit), KODA_E_LIMIT);
	assert_int_equal(out.len, 0);
	data.text[0] = (struct koda_span){ large, KODA_FS_CHUNK };
	assert_int_equal(sent(&data, KODA_FS_CLIENT), KODA_FS_FOUND_FRAME);
	data.text[0].len++;
	assert_int_equal(sent(&data, KODA_FS_CLIENT), KODA_FS_FOUND_LOST);
}

static void names_and_texts_are_known(void **state)
{
	(void)state;
	assert_string_equal(koda_fs_op_name(KODA_FS_OP_RENAME), "rename");
	assert_string_equal(koda_fs_op_name(KODA_FS_OP_COUNT), "?");
	for (uint32_t i = 0; i < KODA_FS_STATUS_COUNT; i++)
		assert_true(koda_fs_status_text(i)[0] != '?');
	assert_string_equal(koda_fs_status_text(KODA_FS_STATUS_COUNT), "?");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_written_is_read),
		cmocka_unit_test(a_frame_that_is_cut_is_awaited),
		cmocka_unit_test(a_malformed_request_is_wrong),
		cmocka_unit_test(sides_have_kinds_of_their_own),
		cmocka_unit_test(framing_that_is_lost_is_noticed),
		cmocka_unit_test(versions_must_be_equal),
		cmocka_unit_test(ceilings_hold),
		cmocka_unit_test(names_and_texts_are_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
