/* SPDX-License-Identifier: MIT */
/* Requests of the older file worker's protocol, and the paths that they mean. */
#include "koda_test.h"

#include "frame.h"
#include "place.h"
#include "reply.h"

static void what_is_no_request_is_refused(void **state)
{
	static const char *const rows[] = {
		"",
		"{\"kind\":",
		"[]",
		"{}",
		"{\"kind\":\"raed\",\"path\":\"x\"}",
		"{\"kind\":1}",
		"{\"kind\":\"ping\",\"kind\":\"ping\"}",
		"{\"kind\":\"read\"}",
		"{\"kind\":\"read\",\"path\":1}",
		"{\"kind\":\"read\",\"path\":null}",
		"{\"kind\":\"read\",\"path\":\"x\",\"max_bytes\":-1}",
		"{\"kind\":\"read\",\"path\":\"a\\u0000b\"}",
		"{\"kind\":\"read\",\"path\":\"\xff\"}",
		"{\"kind\":\"write\",\"path\":\"x\"}",
		"{\"kind\":\"write\",\"path\":\"x\",\"content\":\"text\"}",
		"{\"kind\":\"write\",\"path\":\"x\",\"content\":[256]}",
		"{\"kind\":\"write\",\"path\":\"x\",\"content\":[1.5]}",
		"{\"kind\":\"edit\",\"path\":\"x\",\"old_string\":\"a\"}",
		"{\"kind\":\"glob\",\"pattern\":\"x\"}",
		"{\"kind\":\"grep\",\"root\":\"x\"}",
		"{\"kind\":\"get_env\",\"names\":[1]}",
	};

	(void)state;
	KODA_EACH(row, rows) {
		fscompat_auto_request struct fscompat_request request = FSCOMPAT_REQUEST_INIT;

		KODA_EXPECT(*row, fscompat_request_read(koda_span_of(*row), &request, NULL) ==
					  KODA_E_POLICY);
	}
}

static void fields_of_other_requests_do_not_count(void **state)
{
	static const char text[] = "{\"content\":5,\"kind\":\"stat\",\"names\":[1],\"new\":{},"
				   "\"path\":\"x\",\"pattern\":[]}";
	fscompat_auto_request struct fscompat_request request = FSCOMPAT_REQUEST_INIT;
	struct koda_error err = { .code = KODA_OK };

	(void)state;
	KODA_ASSERT_OK(fscompat_request_read(koda_span_of(text), &request, &err), err);
	assert_int_equal(request.op, KODA_FS_OP_STAT);
	assert_true(koda_span_is(request.path, "x"));
	assert_int_equal(request.bytes.len, 0);
}

static void a_frame_says_how_much_is_missing(void **state)
{
	static const struct {
		const char *name, *bytes;
		size_t len;
		int r;
		size_t need;
	} rows[] = {
		{ "nothing", "", 0, KODA_OK, 4 },
		{ "half a head", "\0\0", 2, KODA_OK, 2 },
		{ "an empty frame", "\0\0\0\0", 4, KODA_OK, 0 },
		{ "a head", "\0\0\0\x0f", 4, KODA_OK, 15 },
		{ "a part", "\0\0\1\2{", 5, KODA_OK, 257 },
		{ "1 MiB", "\0\x10\0\0", 4, KODA_OK, 1048576 },
		{ "1 MiB and one", "\0\x10\0\1", 4, KODA_E_LIMIT, 0 },
		{ "4 GiB", "\xff\xff\xff\xff", 4, KODA_E_LIMIT, 0 },
	};

	(void)state;
	KODA_EACH(row, rows) {
		struct koda_span bytes = { row->bytes, row->len };
		size_t need = 0;

		KODA_EXPECT(row->name, fscompat_frame_need(bytes, &need, NULL) == row->r);
		KODA_EXPECT(row->name, need == row->need);
	}
}

static void a_place_is_absolute(void **state)
{
	static const struct {
		const char *name;
		enum koda_fs_op op;
		const char *path, *text, *want, *want_text, *prefix, *separator;
	} rows[] = {
		{ "absolute", KODA_FS_OP_READ, "/w/a", "", "/w/a", "", "", "" },
		{ "relative", KODA_FS_OP_READ, "a/../b", "", "/cwd/a/../b", "", "", "" },
		{ "empty", KODA_FS_OP_READ, "", "", "", "", "", "" },
		{ "root", KODA_FS_OP_GLOB, "/w//", "*.c", "/w", "*.c", "/w", "/" },
		{ "no root", KODA_FS_OP_GLOB, "", "*.c", "/cwd", "*.c", "", "" },
		{ "relative root", KODA_FS_OP_GREP, "a/", "/x", "/cwd/a", "/x", "a", "/" },
		{ "all", KODA_FS_OP_GREP, "/", "x", "/", "x", "/", "" },
		{ "pattern", KODA_FS_OP_GLOB, "a", "/w/b/c*/d", "/w/b", "c*/d", "/w/b", "/" },
		{ "no wildcard", KODA_FS_OP_GLOB, "a", "/w/b", "/w", "b", "/w", "/" },
		{ "top", KODA_FS_OP_GLOB, "a", "/**", "/", "**", "/", "" },
	};

	(void)state;
	KODA_EACH(row, rows) {
		fscompat_auto_place struct fscompat_place place = FSCOMPAT_PLACE_INIT;
		const struct fscompat_request request = { .op = row->op,
							  .path = koda_span_of(row->path),
							  .text = koda_span_of(row->text) };

		assert_int_equal(fscompat_place_find("/cwd", &request, &place, NULL), KODA_OK);
		KODA_EXPECT(row->name, strcmp(place.path, row->want) == 0);
		KODA_EXPECT(row->name, koda_span_is(place.text, row->want_text));
		KODA_EXPECT(row->name, koda_span_is(place.prefix, row->prefix));
		KODA_EXPECT(row->name, strcmp(place.separator, row->separator) == 0);
	}
}

static void a_reply_over_1_mib_is_an_error(void **state)
{
	fscompat_auto_reply struct fscompat_reply reply = { .failure = KODA_OK };
	struct koda_span payload;

	(void)state;
	fscompat_reply_begin(&reply, "{\"kind\":\"read\",\"content\":[");
	for (size_t i = 0; i < FSCOMPAT_FRAME_MAX; i++) {
		fscompat_reply_element(&reply);
		fscompat_reply_number(&reply, 255);
	}
	fscompat_reply_add(&reply, "]");
	assert_int_equal(fscompat_reply_end(&reply, NULL), KODA_OK);
	payload = fscompat_frame_payload(koda_buf_span(&reply.frame));
	assert_true(koda_span_is(payload, "{\"kind\":\"error\",\"code\":\"io\",\"message\":"
					  "\"the reply would be over 1 MiB\"}"));
	assert_memory_equal(reply.frame.ptr, "\0\0\0\x46", FSCOMPAT_FRAME_HEAD);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_no_request_is_refused),
		cmocka_unit_test(fields_of_other_requests_do_not_count),
		cmocka_unit_test(a_frame_says_how_much_is_missing),
		cmocka_unit_test(a_place_is_absolute),
		cmocka_unit_test(a_reply_over_1_mib_is_an_error),
	};

	return KODA_TEST_RUN(tests);
}
