/* SPDX-License-Identifier: MIT */
#include "koda_test.h"

#include "base/buf.h"

#include <wchar.h>

static void a_new_buffer_holds_and_allocates_nothing(void **state)
{
	koda_auto_buf struct koda_buf buf = KODA_BUF_INIT(10);

	(void)state;
	assert_null(buf.ptr);
	assert_int_equal(buf.len, 0);
	assert_int_equal(koda_buf_span(&buf).len, 0);
}

static void add_appends_and_terminates(void **state)
{
	koda_auto_buf struct koda_buf buf = KODA_BUF_INIT(100);

	(void)state;
	assert_int_equal(koda_buf_add(&buf, "abc", 3), KODA_OK);
	assert_int_equal(koda_buf_add(&buf, "defg", 4), KODA_OK);
	assert_int_equal(buf.len, 7);
	assert_string_equal(buf.ptr, "abcdefg");
}

static void adding_nothing_still_terminates(void **state)
{
	koda_auto_buf struct koda_buf buf = KODA_BUF_INIT(0);

	(void)state;
	assert_int_equal(koda_buf_add(&buf, NULL, 0), KODA_OK);
	assert_int_equal(buf.len, 0);
	assert_string_equal(buf.ptr, "");
}

static void nul_bytes_are_bytes_like_any_other(void **state)
{
	koda_auto_buf struct koda_buf buf = KODA_BUF_INIT(100);

	(void)state;
	assert_int_equal(koda_buf_add(&buf, "a\0b\0", 4), KODA_OK);
	assert_int_equal(koda_buf_add(&buf, "c", 1), KODA_OK);
	assert_int_equal(buf.len, 5);
	assert_memory_equal(buf.ptr, "a\0b\0c", 6);
}

static void a_buffer_takes_exactly_its_ceiling(void **state)
{
	static const size_t ceilings[] = { 1, 2, 62, 63, 64, 65, 127, 128, 129, 4095, 70000 };

	(void)state;
	KODA_EACH(max, ceilings) {
		koda_auto_buf struct koda_buf whole = KODA_BUF_INIT(*max);
		koda_auto_buf struct koda_buf bytewise = KODA_BUF_INIT(*max);
		char *bytes = calloc(1, *max + 1);

		assert_non_null(bytes);
		assert_int_equal(koda_buf_add(&whole, bytes, *max), KODA_OK);
		assert_int_equal(koda_buf_add(&whole, bytes, 1), KODA_E_LIMIT);
		for (size_t i = 0; i < *max; i++)
			assert_int_equal(koda_buf_add(&bytewise, "x", 1), KODA_OK);
		assert_int_equal(koda_buf_add(&bytewise, "x", 1), KODA_E_LIMIT);
		assert_int_equal(whole.len, *max);
		assert_int_equal(bytewise.len, *max);
		assert_int_equal(strlen(bytewise.ptr), *max);
		free(bytes);
	}
}

static void a_refused_add_leaves_the_contents(void **state)
{
	koda_auto_buf struct koda_buf buf = KODA_BUF_INIT(5);
	static const size_t lengths[] = { 3, 4, 1000, SIZE_MAX / 2, SIZE_MAX - 1, SIZE_MAX };
	char *room = NULL;

	(void)state;
	assert_int_equal(koda_buf_add(&buf, "abc", 3), KODA_OK);
	KODA_EACH(len, lengths) {
		assert_int_equal(koda_buf_room(&buf, *len, &room), KODA_E_LIMIT);
		assert_int_equal(koda_buf_add(&buf, "", *len), KODA_E_LIMIT);
	}
	assert_int_equal(koda_buf_addf(&buf, "%s", "def"), KODA_E_LIMIT);
	assert_null(room);
	assert_int_equal(buf.len, 3);
	assert_string_equal(buf.ptr, "abc");
}

static void a_ceiling_of_zero_takes_nothing(void **state)
{
	koda_auto_buf struct koda_buf buf = KODA_BUF_INIT(0);

	(void)state;
	assert_int_equal(koda_buf_add(&buf, "x", 1), KODA_E_LIMIT);
	assert_int_equal(koda_buf_addf(&buf, "%d", 1), KODA_E_LIMIT);
	assert_null(buf.ptr);
}

static void addf_formats_in_place(void **state)
{
	koda_auto_buf struct koda_buf buf = KODA_BUF_INIT(1000);

	(void)state;
	assert_int_equal(koda_buf_addf(&buf, "%s=%d;", "a", 1), KODA_OK);
	assert_int_equal(koda_buf_addf(&buf, "%0200d", 7), KODA_OK);
	assert_int_equal(buf.len, 4 + 200);
	assert_memory_equal(buf.ptr, "a=1;000", 7);
	assert_int_equal(buf.ptr[203], '7');
	assert_int_equal(buf.ptr[204], '\0');
}

static void addf_fills_to_the_ceiling_and_not_past_it(void **state)
{
	koda_auto_buf struct koda_buf buf = KODA_BUF_INIT(4);

	(void)state;
	assert_int_equal(koda_buf_addf(&buf, "%d", 1234), KODA_OK);
	assert_int_equal(koda_buf_addf(&buf, "%s", ""), KODA_OK);
	assert_int_equal(koda_buf_addf(&buf, "%d", 5), KODA_E_LIMIT);
	assert_string_equal(buf.ptr, "1234");
}

static void addf_refuses_what_cannot_be_formatted(void **state)
{
	static const wchar_t impossible[] = { 0x7fffffff, 0 };
	koda_auto_buf struct koda_buf buf = KODA_BUF_INIT(100);

	(void)state;
	assert_int_equal(koda_buf_add(&buf, "abc", 3), KODA_OK);
	assert_int_equal(koda_buf_addf(&buf, "%ls", impossible), KODA_E_INVALID);
	assert_string_equal(buf.ptr, "abc");
}

static void room_gives_bytes_that_grew_takes_over(void **state)
{
	koda_auto_buf struct koda_buf buf = KODA_BUF_INIT(300);
	char *room = NULL;

	(void)state;
	assert_int_equal(koda_buf_add(&buf, "ab", 2), KODA_OK);
	assert_int_equal(koda_buf_room(&buf, 298, &room), KODA_OK);
	assert_ptr_equal(room, buf.ptr + 2);
	memset(room, 'x', 298);
	assert_int_equal(buf.len, 2);
	koda_buf_grew(&buf, 3);
	assert_string_equal(buf.ptr, "abxxx");
}

static void a_cleared_buffer_can_be_used_again_with_its_ceiling(void **state)
{
	koda_auto_buf struct koda_buf buf = KODA_BUF_INIT(3);

	(void)state;
	assert_int_equal(koda_buf_add(&buf, "abc", 3), KODA_OK);
	koda_buf_clear(&buf);
	koda_buf_clear(&buf);
	assert_null(buf.ptr);
	assert_int_equal(buf.len, 0);
	assert_int_equal(koda_buf_add(&buf, "defg", 4), KODA_E_LIMIT);
	assert_int_equal(koda_buf_add(&buf, "def", 3), KODA_OK);
	assert_string_equal(buf.ptr, "def");
}

static void take_hands_the_text_over(void **state)
{
	koda_auto_buf struct koda_buf buf = KODA_BUF_INIT(3);
	char *text = NULL;

	(void)state;
	assert_int_equal(koda_buf_add(&buf, "abc", 3), KODA_OK);
	assert_int_equal(koda_buf_take(&buf, &text), KODA_OK);
	assert_string_equal(text, "abc");
	assert_null(buf.ptr);
	assert_int_equal(buf.len, 0);
	assert_int_equal(koda_buf_add(&buf, "def", 3), KODA_OK);
	assert_string_equal(text, "abc");
	free(text);
}

static void take_of_an_empty_buffer_is_an_empty_string(void **state)
{
	koda_auto_buf struct koda_buf buf = KODA_BUF_INIT(0);
	char *text = NULL;

	(void)state;
	assert_int_equal(koda_buf_take(&buf, &text), KODA_OK);
	assert_string_equal(text, "");
	free(text);
}

/* Adds of random sizes against a flat array that does the same the dull way. */
static void random_adds_agree_with_a_flat_array(void **state)
{
	static char model[5000];
	static char piece[700];
	struct koda_rng rng = koda_rng_new();

	(void)state;
	for (int round = 0; round < 200; round++) {
		koda_auto_buf struct koda_buf buf =
			KODA_BUF_INIT(koda_rng_below(&rng, sizeof(model)));
		size_t used = 0;

		for (int i = 0; i < 30; i++) {
			size_t len = koda_rng_below(&rng, sizeof(piece));
			bool fits = used + len <= buf.max;

			memset(piece, (int)koda_rng_below(&rng, 256), len);
			assert_int_equal(koda_buf_add(&buf, piece, len),
					 fits ? KODA_OK : KODA_E_LIMIT);
			if (fits) {
				memcpy(model + used, piece, len);
				used += len;
			}
			assert_int_equal(buf.len, used);
		}
		if (used > 0)
			assert_memory_equal(buf.ptr, model, used);
	}
}

static const struct {
	const char *name;
	struct koda_span a;
	struct koda_span b;
	bool equal;
} spans[] = {
	{ "same", { "abc", 3 }, { "abc", 3 }, true },
	{ "differs", { "abc", 3 }, { "abd", 3 }, false },
	{ "prefix", { "abc", 3 }, { "ab", 2 }, false },
	{ "only the span counts", { "abX", 2 }, { "abY", 2 }, true },
	{ "NUL inside", { "a\0b", 3 }, { "a\0c", 3 }, false },
	{ "both empty", { "", 0 }, { NULL, 0 }, true },
	{ "both nowhere", { NULL, 0 }, { NULL, 0 }, true },
	{ "empty and not", { NULL, 0 }, { "a", 1 }, false },
};

static void spans_are_equal_byte_by_byte(void **state)
{
	(void)state;
	KODA_EACH(row, spans) {
		KODA_EXPECT(row->name, koda_span_eq(row->a, row->b) == row->equal);
		KODA_EXPECT(row->name, koda_span_eq(row->b, row->a) == row->equal);
	}
}

static void a_span_with_a_nul_is_no_c_string(void **state)
{
	(void)state;
	assert_true(koda_span_is((struct koda_span){ "ab", 2 }, "ab"));
	assert_false(koda_span_is((struct koda_span){ "ab\0", 3 }, "ab"));
	assert_false(koda_span_is((struct koda_span){ "a", 1 }, "ab"));
	assert_true(koda_span_is((struct koda_span){ NULL, 0 }, ""));
}

static void skip_drops_leading_bytes(void **state)
{
	(void)state;
	KODA_ASSERT_SPAN(koda_span_skip(koda_span_of("abc"), 0), "abc");
	KODA_ASSERT_SPAN(koda_span_skip(koda_span_of("abc"), 2), "c");
	KODA_ASSERT_SPAN(koda_span_skip(koda_span_of("abc"), 3), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_new_buffer_holds_and_allocates_nothing),
		cmocka_unit_test(add_appends_and_terminates),
		cmocka_unit_test(adding_nothing_still_terminates),
		cmocka_unit_test(nul_bytes_are_bytes_like_any_other),
		cmocka_unit_test(a_buffer_takes_exactly_its_ceiling),
		cmocka_unit_test(a_refused_add_leaves_the_contents),
		cmocka_unit_test(a_ceiling_of_zero_takes_nothing),
		cmocka_unit_test(addf_formats_in_place),
		cmocka_unit_test(addf_fills_to_the_ceiling_and_not_past_it),
		cmocka_unit_test(addf_refuses_what_cannot_be_formatted),
		cmocka_unit_test(room_gives_bytes_that_grew_takes_over),
		cmocka_unit_test(a_cleared_buffer_can_be_used_again_with_its_ceiling),
		cmocka_unit_test(take_hands_the_text_over),
		cmocka_unit_test(take_of_an_empty_buffer_is_an_empty_string),
		cmocka_unit_test(random_adds_agree_with_a_flat_array),
		cmocka_unit_test(spans_are_equal_byte_by_byte),
		cmocka_unit_test(a_span_with_a_nul_is_no_c_string),
		cmocka_unit_test(skip_drops_leading_bytes),
	};

	return KODA_TEST_RUN(tests);
}
