/* SPDX-License-Identifier: MIT */
#include "koda_test.h"

#include "base/ascii.h"
#include "base/parse.h"
#include "base/strv.h"
#include "base/utf8.h"

#include <limits.h>

static void a_vector_copies_and_terminates(void **state)
{
	koda_auto_strv struct koda_strv strv = KODA_STRV_INIT;
	struct koda_error err = { 0 };
	char text[] = "one";

	(void)state;
	KODA_ASSERT_OK(koda_strv_add(&strv, text, &err), err);
	text[0] = 'X';
	KODA_ASSERT_OK(koda_strv_add(&strv, "", &err), err);
	assert_int_equal(strv.len, 2);
	assert_string_equal(strv.items[0], "one");
	assert_string_equal(strv.items[1], "");
	assert_null(strv.items[2]);
}

static void a_vector_grows_and_stays_terminated(void **state)
{
	koda_auto_strv struct koda_strv strv = KODA_STRV_INIT;
	struct koda_error err = { 0 };
	char text[16];

	(void)state;
	for (size_t i = 0; i < 100; i++) {
		(void)snprintf(text, sizeof(text), "%zu", i);
		KODA_ASSERT_OK(koda_strv_add(&strv, text, &err), err);
		assert_int_equal(strv.len, i + 1);
		assert_null(strv.items[i + 1]);
	}
	assert_string_equal(strv.items[0], "0");
	assert_string_equal(strv.items[99], "99");
}

static void add_span_takes_only_the_span(void **state)
{
	koda_auto_strv struct koda_strv strv = KODA_STRV_INIT;
	struct koda_error err = { 0 };

	(void)state;
	KODA_ASSERT_OK(koda_strv_add_span(&strv, (struct koda_span){ "abcdef", 3 }, &err), err);
	KODA_ASSERT_OK(koda_strv_add_span(&strv, (struct koda_span){ "abc", 0 }, &err), err);
	assert_string_equal(strv.items[0], "abc");
	assert_string_equal(strv.items[1], "");
}

static void take_keeps_the_very_string(void **state)
{
	koda_auto_strv struct koda_strv strv = KODA_STRV_INIT;
	struct koda_error err = { 0 };
	char *item = strdup("x");

	(void)state;
	KODA_ASSERT_OK(koda_strv_take(&strv, item, &err), err);
	assert_ptr_equal(strv.items[0], item);
}

static void taking_nothing_is_a_failed_allocation(void **state)
{
	koda_auto_strv struct koda_strv strv = KODA_STRV_INIT;
	struct koda_error err = { 0 };

	(void)state;
	KODA_ASSERT_FAILS(KODA_E_NOMEM, koda_strv_take(&strv, NULL, &err), err);
	assert_int_equal(strv.len, 0);
}

static void has_finds_whole_strings(void **state)
{
	koda_auto_strv struct koda_strv strv = KODA_STRV_INIT;
	struct koda_error err = { 0 };

	(void)state;
	assert_false(koda_strv_has(&strv, ""));
	KODA_ASSERT_OK(koda_strv_add(&strv, "abc", &err), err);
	KODA_ASSERT_OK(koda_strv_add(&strv, "def", &err), err);
	assert_true(koda_strv_has(&strv, "def"));
	assert_false(koda_strv_has(&strv, "de"));
	assert_false(koda_strv_has(&strv, "DEF"));
}

static void a_cleared_vector_can_be_used_again(void **state)
{
	koda_auto_strv struct koda_strv strv = KODA_STRV_INIT;
	struct koda_error err = { 0 };

	(void)state;
	koda_strv_clear(&strv);
	KODA_ASSERT_OK(koda_strv_add(&strv, "a", &err), err);
	koda_strv_clear(&strv);
	koda_strv_clear(&strv);
	assert_null(strv.items);
	assert_int_equal(strv.len, 0);
	KODA_ASSERT_OK(koda_strv_add(&strv, "b", &err), err);
	assert_string_equal(strv.items[0], "b");
}

static const struct {
	const char *text;
	uint64_t max;
	int code;
	uint64_t value;
} numbers[] = {
	{ "0", UINT64_MAX, KODA_OK, 0 },
	{ "007", UINT64_MAX, KODA_OK, 7 },
	{ "255", 255, KODA_OK, 255 },
	{ "256", 255, KODA_E_LIMIT, 0 },
	{ "0", 0, KODA_OK, 0 },
	{ "1", 0, KODA_E_LIMIT, 0 },
	{ "18446744073709551615", UINT64_MAX, KODA_OK, UINT64_MAX },
	{ "18446744073709551616", UINT64_MAX, KODA_E_LIMIT, 0 },
	{ "18446744073709551620", UINT64_MAX, KODA_E_LIMIT, 0 },
	{ "99999999999999999999999", UINT64_MAX, KODA_E_LIMIT, 0 },
	{ "", 9, KODA_E_INVALID, 0 },
	{ " 1", 9, KODA_E_INVALID, 0 },
	{ "1 ", 9, KODA_E_INVALID, 0 },
	{ "+1", 9, KODA_E_INVALID, 0 },
	{ "-1", 9, KODA_E_INVALID, 0 },
	{ "0x1", 9, KODA_E_INVALID, 0 },
	{ "1.0", 9, KODA_E_INVALID, 0 },
	{ "1e1", 99, KODA_E_INVALID, 0 },
	{ "1\n", 9, KODA_E_INVALID, 0 },
	{ "\xd9\xa1", 9, KODA_E_INVALID, 0 }, /* an Arabic digit one */
	{ "/", 9, KODA_E_INVALID, 0 },
	{ ":", 9, KODA_E_INVALID, 0 },
};

static void whole_numbers_are_digits_and_nothing_else(void **state)
{
	(void)state;
	KODA_EACH(row, numbers) {
		struct koda_error err = { 0 };
		uint64_t value = 12345;
		int r = koda_parse_u64(row->text, row->max, &value, &err);

		KODA_EXPECT(row->text, r == row->code && err.code == row->code);
		KODA_EXPECT(row->text, value == (r == KODA_OK ? row->value : 12345));
	}
}

static void plain_numbers_are_no_sizes_with_a_unit(void **state)
{
	struct koda_error err = { 0 };
	uint64_t value = 12345;

	(void)state;
	KODA_ASSERT_FAILS(KODA_E_INVALID, koda_parse_u64("1K", UINT64_MAX, &value, &err), err);
	assert_int_equal(value, 12345);
}

static const struct {
	const char *text;
	uint64_t max;
	int code;
	uint64_t value;
} sizes[] = {
	{ "0", 0, KODA_OK, 0 },
	{ "0K", 0, KODA_OK, 0 },
	{ "17", UINT64_MAX, KODA_OK, 17 },
	{ "1k", UINT64_MAX, KODA_OK, 1024 },
	{ "1K", UINT64_MAX, KODA_OK, 1024 },
	{ "3m", UINT64_MAX, KODA_OK, 3145728 },
	{ "3M", UINT64_MAX, KODA_OK, 3145728 },
	{ "2g", UINT64_MAX, KODA_OK, 2147483648 },
	{ "2G", UINT64_MAX, KODA_OK, 2147483648 },
	{ "1K", 1024, KODA_OK, 1024 },
	{ "1K", 1023, KODA_E_LIMIT, 0 },
	{ "1024", 1023, KODA_E_LIMIT, 0 },
	{ "17179869183G", UINT64_MAX, KODA_OK, 0xffffffffc0000000 },
	{ "17179869184G", UINT64_MAX, KODA_E_LIMIT, 0 },
	{ "18446744073709551615K", UINT64_MAX, KODA_E_LIMIT, 0 },
	{ "18446744073709551616", UINT64_MAX, KODA_E_LIMIT, 0 },
	{ "", 9, KODA_E_INVALID, 0 },
	{ "K", 9, KODA_E_INVALID, 0 },
	{ "1T", UINT64_MAX, KODA_E_INVALID, 0 },
	{ "1KB", UINT64_MAX, KODA_E_INVALID, 0 },
	{ "1KK", UINT64_MAX, KODA_E_INVALID, 0 },
	{ "1 K", UINT64_MAX, KODA_E_INVALID, 0 },
	{ "-1K", UINT64_MAX, KODA_E_INVALID, 0 },
	{ "1.5M", UINT64_MAX, KODA_E_INVALID, 0 },
};

static void sizes_may_have_one_unit(void **state)
{
	(void)state;
	KODA_EACH(row, sizes) {
		struct koda_error err = { 0 };
		uint64_t value = 12345;
		int r = koda_parse_size(row->text, row->max, &value, &err);

		KODA_EXPECT(row->text, r == row->code && err.code == row->code);
		KODA_EXPECT(row->text, value == (r == KODA_OK ? row->value : 12345));
	}
}

static void ascii_helpers_know_ascii_only(void **state)
{
	(void)state;
	for (int c = CHAR_MIN; c <= CHAR_MAX; c++) {
		const char *digits = "0123456789abcdef";
		const char *upper = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
		const char *at = c ? strchr(upper, c) : NULL;
		int lower = at ? "abcdefghijklmnopqrstuvwxyz"[at - upper] : c;
		const char *hex = c ? strchr(digits, lower) : NULL;

		assert_int_equal(koda_ascii_lower((char)c), lower);
		assert_int_equal(koda_ascii_hex((char)c), hex ? hex - digits : -1);
		assert_int_equal(koda_ascii_is_digit((char)c), hex && hex - digits < 10);
	}
}

static const struct {
	const char *name;
	const char *text;
	size_t len;
	bool valid;
} texts[] = {
	{ "empty", "", 0, true },
	{ "nowhere", NULL, 0, true },
	{ "ASCII with NUL", "a\0b", 3, true },
	{ "last ASCII", "\x7f", 1, true },
	{ "lone continuation", "\x80", 1, false },
	{ "last continuation", "\xbf", 1, false },
	{ "overlong lead c0", "\xc0\x80", 2, false },
	{ "overlong lead c1", "\xc1\xbf", 2, false },
	{ "first of two bytes", "\xc2\x80", 2, true },
	{ "last of two bytes", "\xdf\xbf", 2, true },
	{ "two bytes cut", "\xc2", 1, false },
	{ "two bytes, low second", "\xc2\x7f", 2, false },
	{ "two bytes, high second", "\xc2\xc0", 2, false },
	{ "overlong three bytes", "\xe0\x9f\xbf", 3, false },
	{ "first of three bytes", "\xe0\xa0\x80", 3, true },
	{ "last before surrogates", "\xed\x9f\xbf", 3, true },
	{ "first surrogate", "\xed\xa0\x80", 3, false },
	{ "last surrogate", "\xed\xbf\xbf", 3, false },
	{ "first after surrogates", "\xee\x80\x80", 3, true },
	{ "last of three bytes", "\xef\xbf\xbf", 3, true },
	{ "three bytes cut", "\xe2\x82", 2, false },
	{ "three bytes, bad third", "\xe2\x82\x28", 3, false },
	{ "overlong four bytes", "\xf0\x8f\xbf\xbf", 4, false },
	{ "first of four bytes", "\xf0\x90\x80\x80", 4, true },
	{ "middle of four bytes", "\xf1\x80\x80\x80", 4, true },
	{ "last code point", "\xf4\x8f\xbf\xbf", 4, true },
	{ "past the last code point", "\xf4\x90\x80\x80", 4, false },
	{ "lead f5", "\xf5\x80\x80\x80", 4, false },
	{ "lead ff", "\xff", 1, false },
	{ "four bytes cut", "\xf0\x9f\x98", 3, false },
	{ "four bytes, bad fourth", "\xf0\x9f\x98\x28", 4, false },
	{ "good then bad", "\xc3\xa9\xff", 3, false },
	{ "good then good", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80 x", 11, true },
	{ "cut by the span, not by the bytes", "\xe2\x82\xac", 2, false },
};

static void utf8_is_checked_to_the_last_byte(void **state)
{
	(void)state;
	KODA_EACH(row, texts)
		KODA_EXPECT(row->name, koda_utf8_is_valid((struct koda_span){
					       row->text, row->len }) == row->valid);
}

/* Every code point, encoded by the book. */
static void every_code_point_but_surrogates_is_valid(void **state)
{
	(void)state;
	for (uint32_t c = 0; c < 0x110000; c++) {
		char s[4];
		size_t len;

		if (c < 0x80) {
			len = 1;
			s[0] = (char)c;
		} else if (c < 0x800) {
			len = 2;
			s[0] = (char)(0xc0 | c >> 6);
		} else if (c < 0x10000) {
			len = 3;
			s[0] = (char)(0xe0 | c >> 12);
		} else {
			len = 4;
			s[0] = (char)(0xf0 | c >> 18);
		}
		for (size_t i = 1; i < len; i++)
			s[i] = (char)(0x80 | (c >> 6 * (len - 1 - i) & 0x3f));
		assert_int_equal(koda_utf8_is_valid((struct koda_span){ s, len }),
				 c < 0xd800 || c > 0xdfff);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_vector_copies_and_terminates),
		cmocka_unit_test(a_vector_grows_and_stays_terminated),
		cmocka_unit_test(add_span_takes_only_the_span),
		cmocka_unit_test(take_keeps_the_very_string),
		cmocka_unit_test(taking_nothing_is_a_failed_allocation),
		cmocka_unit_test(has_finds_whole_strings),
		cmocka_unit_test(a_cleared_vector_can_be_used_again),
		cmocka_unit_test(whole_numbers_are_digits_and_nothing_else),
		cmocka_unit_test(plain_numbers_are_no_sizes_with_a_unit),
		cmocka_unit_test(sizes_may_have_one_unit),
		cmocka_unit_test(ascii_helpers_know_ascii_only),
		cmocka_unit_test(utf8_is_checked_to_the_last_byte),
		cmocka_unit_test(every_code_point_but_surrogates_is_valid),
	};

	return KODA_TEST_RUN(tests);
}
