/* SPDX-License-Identifier: MIT */
#include "koda_test.h"

#include "base/error.h"
#include "base/utf8.h"

#include <errno.h>
#include <wchar.h>

#define MESSAGE_MAX (sizeof(((struct koda_error *)0)->message) - 1)
#define FIELD_MAX   (sizeof(((struct koda_error *)0)->field) - 1)

/* A wide character that no multibyte encoding has: formatting it fails. */
static const wchar_t impossible[] = { 0x7fffffff, 0 };

static const char *repeated(const char *unit, size_t times)
{
	static char text[2048];
	size_t len = strlen(unit);

	assert_true(len * times < sizeof(text));
	for (size_t i = 0; i < times; i++)
		memcpy(text + i * len, unit, len);
	text[len * times] = '\0';
	return text;
}

static bool ends_with(const char *text, const char *end)
{
	size_t len = strlen(text);

	return len >= strlen(end) && strcmp(text + len - strlen(end), end) == 0;
}

static bool is_utf8(const char *text)
{
	return koda_utf8_is_valid((struct koda_span){ text, strlen(text) });
}

static void every_code_has_its_name(void **state)
{
	(void)state;
	assert_string_equal(koda_code_name(KODA_OK), "OK");
#define CHECK_NAME(name, value, text)                                                              \
	assert_int_equal(KODA_E_##name, value);                                                    \
	assert_string_equal(koda_code_name(value), #name);
	KODA_CODES(CHECK_NAME)
#undef CHECK_NAME
}

static void a_number_that_is_no_code_has_a_name_too(void **state)
{
	(void)state;
	assert_string_equal(koda_code_name(1), "UNKNOWN");
	assert_string_equal(koda_code_name(-1000), "UNKNOWN");
}

static void fail_returns_its_code_and_fills_every_field(void **state)
{
	struct koda_error err;

	(void)state;
	memset(&err, 0x55, sizeof(err));
	assert_int_equal(koda_fail(&err, KODA_E_LIMIT, 0, "%d of %s", 7, "them"), KODA_E_LIMIT);
	assert_int_equal(err.code, KODA_E_LIMIT);
	assert_int_equal(err.sys_errno, 0);
	assert_string_equal(err.field, "");
	assert_string_equal(err.message, "7 of them");
}

static void fail_at_names_the_place(void **state)
{
	struct koda_error err;

	(void)state;
	memset(&err, 0x55, sizeof(err));
	assert_int_equal(koda_fail_at(&err, KODA_E_POLICY, 0, "/fs", "bad %c", 'x'), KODA_E_POLICY);
	assert_string_equal(err.field, "/fs");
	assert_string_equal(err.message, "bad x");
}

static void errno_text_is_appended_and_the_number_kept(void **state)
{
	struct koda_error err = { 0 };

	(void)state;
	errno = EPERM; /* only the argument counts */
	assert_int_equal(koda_fail(&err, KODA_E_SYS, ENOENT, "cannot open"), KODA_E_SYS);
	assert_int_equal(err.sys_errno, ENOENT);
	assert_string_equal(err.message, "cannot open: No such file or directory");
}

static void errno_number_survives_a_message_that_fills_all_space(void **state)
{
	struct koda_error err = { 0 };

	(void)state;
	(void)koda_fail(&err, KODA_E_SYS, EACCES, "%s", repeated("a", 1000));
	assert_int_equal(err.sys_errno, EACCES);
	assert_int_equal(strlen(err.message), MESSAGE_MAX);
}

static void out_of_memory_says_so(void **state)
{
	struct koda_error err = { 0 };

	(void)state;
	KODA_ASSERT_FAILS(KODA_E_NOMEM, koda_fail_nomem(&err), err);
}

static void no_room_is_either_memory_or_a_limit(void **state)
{
	struct koda_error err = { 0 };

	(void)state;
	KODA_ASSERT_FAILS(KODA_E_NOMEM, koda_fail_room(&err, KODA_E_NOMEM, "the path"), err);
	assert_string_equal(err.message, "out of memory");
	KODA_ASSERT_FAILS(KODA_E_LIMIT, koda_fail_room(&err, KODA_E_LIMIT, "the path"), err);
	assert_string_equal(err.message, "the path is too long");
}

static void no_error_object_is_fine_everywhere(void **state)
{
	(void)state;
	assert_int_equal(koda_fail(NULL, KODA_E_SYS, EIO, "x"), KODA_E_SYS);
	assert_int_equal(koda_fail_at(NULL, KODA_E_POLICY, 0, "at", "x"), KODA_E_POLICY);
	assert_int_equal(koda_fail_nomem(NULL), KODA_E_NOMEM);
	assert_int_equal(koda_fail_room(NULL, KODA_E_LIMIT, "x"), KODA_E_LIMIT);
	koda_error_prefix(NULL, "%s: ", "x");
	koda_error_within(NULL, "/x");
}

static void a_message_that_cannot_be_formatted_is_empty(void **state)
{
	struct koda_error err = { .message = "old" };

	(void)state;
	assert_int_equal(koda_fail(&err, KODA_E_INTERNAL, 0, "%ls", impossible), KODA_E_INTERNAL);
	assert_string_equal(err.message, "");
}

/* T-10: what a message, a place or a prefix may show of foreign bytes. */
static const struct {
	const char *name;
	const char *in;
	const char *out;
} escapes[] = {
	{ "plain", "a b~!", "a b~!" },
	{ "backslash", "a\\b", "a\\b" },
	{ "newline", "a\nERROR forged", "a\\x0aERROR forged" },
	{ "carriage return", "a\rb", "a\\x0db" },
	{ "tab", "\t", "\\x09" },
	{ "escape sequence", "\x1b[31m", "\\x1b[31m" },
	{ "first control", "\x01", "\\x01" },
	{ "last control", "\x1f", "\\x1f" },
	{ "delete", "\x7f", "\\x7f" },
	{ "two bytes", "caf\xc3\xa9", "caf\xc3\xa9" },
	{ "no-break space, the first after C1", "\xc2\xa0", "\xc2\xa0" },
	{ "C1 control (CSI)", "\xc2\x9b", "\\xc2\\x9b" },
	{ "C1 next line", "\xc2\x85", "\\xc2\\x85" },
	{ "three bytes", "\xe2\x82\xac", "\xe2\x82\xac" },
	{ "right-to-left override", "\xe2\x80\xae", "\\xe2\\x80\\xae" },
	{ "line separator", "\xe2\x80\xa8", "\\xe2\\x80\\xa8" },
	{ "first strong isolate", "\xe2\x81\xa8", "\\xe2\\x81\\xa8" },
	{ "arabic letter mark", "\xd8\x9c", "\\xd8\\x9c" },
	{ "arabic letter", "\xd8\xa7", "\xd8\xa7" },
	{ "overlong two bytes", "\xc0\xaf", "\\xc0\\xaf" },
	{ "overlong three bytes", "\xe0\x80\xaf", "\\xe0\\x80\\xaf" },
	{ "smallest three bytes", "\xe0\xa0\x80", "\xe0\xa0\x80" },
	{ "surrogate", "\xed\xa0\x80", "\\xed\\xa0\\x80" },
	{ "last before the surrogates", "\xed\x9f\xbf", "\xed\x9f\xbf" },
	{ "zero-width space", "\xe2\x80\x8b", "\\xe2\\x80\\x8b" },
	{ "hyphen, the first after the marks", "\xe2\x80\x90", "\xe2\x80\x90" },
	{ "soft hyphen", "\xc2\xad", "\\xc2\\xad" },
	{ "word joiner", "\xe2\x81\xa0", "\\xe2\\x81\\xa0" },
	{ "byte order mark", "\xef\xbb\xbf", "\\xef\\xbb\\xbf" },
	{ "four bytes", "\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80" },
	{ "tag character", "\xf3\xa0\x81\x81", "\\xf3\\xa0\\x81\\x81" },
	{ "last before the tags", "\xf3\x9f\xbf\xbf", "\xf3\x9f\xbf\xbf" },
	{ "overlong four bytes", "\xf0\x80\x80\xaf", "\\xf0\\x80\\x80\\xaf" },
	{ "cut four-byte sequence", "x\xf0\x9f\x98", "x\\xf0\\x9f\\x98" },
	{ "lone continuation", "\x80", "\\x80" },
	{ "cut two-byte sequence", "x\xc3", "x\\xc3" },
	{ "cut three-byte sequence", "x\xe2\x82", "x\\xe2\\x82" },
	{ "lead before ASCII", "\xc3(", "\\xc3(" },
	{ "three-byte lead before ASCII", "\xe2(", "\\xe2(" },
	{ "never a byte of UTF-8", "\xff\xfe", "\\xff\\xfe" },
};

static void bytes_that_could_deceive_are_escaped_in_messages(void **state)
{
	(void)state;
	KODA_EACH(row, escapes) {
		struct koda_error err = { 0 };

		(void)koda_fail(&err, KODA_E_POLICY, 0, "%s", row->in);
		KODA_EXPECT(row->name, strcmp(err.message, row->out) == 0);
	}
}

static void bytes_that_could_deceive_are_escaped_in_fields(void **state)
{
	(void)state;
	KODA_EACH(row, escapes) {
		struct koda_error err = { 0 };

		(void)koda_fail_at(&err, KODA_E_POLICY, 0, row->in, "x");
		KODA_EXPECT(row->name, strcmp(err.field, row->out) == 0);
	}
}

static void bytes_that_could_deceive_are_escaped_in_prefixes(void **state)
{
	(void)state;
	KODA_EACH(row, escapes) {
		struct koda_error err = { .message = "" };

		koda_error_prefix(&err, "%s", row->in);
		KODA_EXPECT(row->name, strcmp(err.message, row->out) == 0);
	}
}

/* A JSON key is foreign text, and koda_error_within is how it gets into the field. */
static void bytes_that_could_deceive_are_escaped_in_outer_places(void **state)
{
	(void)state;
	KODA_EACH(row, escapes) {
		struct koda_error err = { .field = "" };

		koda_error_within(&err, row->in);
		KODA_EXPECT(row->name, strcmp(err.field, row->out) == 0);
	}
}

static const struct {
	const char *name;
	const char *unit;
	size_t message_len;
	size_t field_len;
} cuts[] = {
	{ "one byte each", "a", 255, 95 },
	{ "two bytes each", "\xc3\xa9", 254, 94 },
	{ "three bytes each", "\xe2\x82\xac", 255, 93 },
	{ "four bytes each", "\xf0\x9f\x98\x80", 252, 92 },
	{ "escapes of four", "\n", 252, 92 },
};

static void over_long_text_is_cut_between_units(void **state)
{
	(void)state;
	KODA_EACH(row, cuts) {
		const char *text = repeated(row->unit, 300);
		struct koda_error err = { 0 };

		(void)koda_fail_at(&err, KODA_E_POLICY, 0, text, "%s", text);
		KODA_EXPECT(row->name, strlen(err.message) == row->message_len);
		KODA_EXPECT(row->name, strlen(err.field) == row->field_len);
		KODA_EXPECT(row->name, is_utf8(err.message) && is_utf8(err.field));
	}
}

static void prefix_puts_context_in_front_and_changes_nothing_else(void **state)
{
	struct koda_error err = { 0 };

	(void)state;
	(void)koda_fail_at(&err, KODA_E_SYS, ENOENT, "/x", "cannot open");
	koda_error_prefix(&err, "HOME: ");
	koda_error_prefix(&err, "site %d: ", 1);
	assert_string_equal(err.message, "site 1: HOME: cannot open: No such file or directory");
	assert_string_equal(err.field, "/x");
	assert_int_equal(err.code, KODA_E_SYS);
	assert_int_equal(err.sys_errno, ENOENT);
}

static void prefix_is_cut_so_that_the_cause_is_whole(void **state)
{
	struct koda_error err = { 0 };
	char cause[251];

	(void)state;
	memset(cause, 'c', sizeof(cause) - 1);
	cause[sizeof(cause) - 1] = '\0';
	(void)koda_fail(&err, KODA_E_SYS, 0, "%s", cause);
	koda_error_prefix(&err, "0123456789");
	assert_int_equal(strlen(err.message), MESSAGE_MAX);
	assert_true(strncmp(err.message, "01234c", 6) == 0);
	assert_true(ends_with(err.message, cause));
	koda_error_prefix(&err, "there is no room left");
	assert_true(strncmp(err.message, "01234c", 6) == 0);
}

static void an_over_long_prefix_keeps_the_cause(void **state)
{
	struct koda_error err = { 0 };

	(void)state;
	(void)koda_fail(&err, KODA_E_SYS, ELOOP, "the cause");
	koda_error_prefix(&err, "%s", repeated("p", 1000));
	assert_int_equal(strlen(err.message), MESSAGE_MAX);
	assert_true(ends_with(err.message, "pthe cause: Too many levels of symbolic links"));
}

static void a_cut_prefix_is_still_whole_characters(void **state)
{
	(void)state;
	for (size_t len = 1; len <= MESSAGE_MAX; len++) {
		struct koda_error err = { 0 };

		memset(err.message, 'c', len);
		koda_error_prefix(&err, "%s", repeated("\xe2\x82\xac", 80));
		assert_true(is_utf8(err.message));
		assert_int_equal(err.message[strlen(err.message) - len], 'c');
	}
}

static void a_prefix_that_cannot_be_formatted_changes_nothing(void **state)
{
	struct koda_error err = { .message = "the cause" };

	(void)state;
	koda_error_prefix(&err, "%ls", impossible);
	assert_string_equal(err.message, "the cause");
}

static void within_builds_a_pointer_from_the_inside_out(void **state)
{
	struct koda_error err = { 0 };

	(void)state;
	(void)koda_fail(&err, KODA_E_POLICY, 0, "relative path");
	koda_error_within(&err, "/0");
	koda_error_within(&err, "/deny_read");
	koda_error_within(&err, "/fs");
	assert_string_equal(err.field, "/fs/deny_read/0");
	assert_string_equal(err.message, "relative path");
}

static void within_cuts_the_outer_step_only(void **state)
{
	struct koda_error err = { .field = "/inner" };

	(void)state;
	koda_error_within(&err, repeated("o", 200));
	assert_int_equal(strlen(err.field), FIELD_MAX);
	assert_true(ends_with(err.field, "oo/inner"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_code_has_its_name),
		cmocka_unit_test(a_number_that_is_no_code_has_a_name_too),
		cmocka_unit_test(fail_returns_its_code_and_fills_every_field),
		cmocka_unit_test(fail_at_names_the_place),
		cmocka_unit_test(errno_text_is_appended_and_the_number_kept),
		cmocka_unit_test(errno_number_survives_a_message_that_fills_all_space),
		cmocka_unit_test(out_of_memory_says_so),
		cmocka_unit_test(no_room_is_either_memory_or_a_limit),
		cmocka_unit_test(no_error_object_is_fine_everywhere),
		cmocka_unit_test(a_message_that_cannot_be_formatted_is_empty),
		cmocka_unit_test(bytes_that_could_deceive_are_escaped_in_messages),
		cmocka_unit_test(bytes_that_could_deceive_are_escaped_in_fields),
		cmocka_unit_test(bytes_that_could_deceive_are_escaped_in_prefixes),
		cmocka_unit_test(bytes_that_could_deceive_are_escaped_in_outer_places),
		cmocka_unit_test(over_long_text_is_cut_between_units),
		cmocka_unit_test(prefix_puts_context_in_front_and_changes_nothing_else),
		cmocka_unit_test(prefix_is_cut_so_that_the_cause_is_whole),
		cmocka_unit_test(an_over_long_prefix_keeps_the_cause),
		cmocka_unit_test(a_cut_prefix_is_still_whole_characters),
		cmocka_unit_test(a_prefix_that_cannot_be_formatted_changes_nothing),
		cmocka_unit_test(within_builds_a_pointer_from_the_inside_out),
		cmocka_unit_test(within_cuts_the_outer_step_only),
	};

	return KODA_TEST_RUN(tests);
}
