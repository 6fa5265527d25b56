/* SPDX-License-Identifier: MIT */
/* Lists of strings, which the parser sees, does not see (abridge.h), or sees in part. */
#include "koda_test.h"

#include "base/buf.h"
#include "policy/json.h"

#include <koda/policy.h>

#define BYTES_MAX 64
#define DEPTH_MAX 4

static int load(const char *text, struct koda_json **ret_root, struct koda_error *err)
{
	return koda_json_load(koda_span_of(text), BYTES_MAX, DEPTH_MAX, ret_root, err);
}

static void refuses_what_is_no_list(void **state)
{
	static const struct {
		const char *name;
		const char *text;
		const char *field;
	} rows[] = {
		{ "strings without comma", "[\"a\" \"b\"]", "1:8" },
		{ "strings, trailing comma", "[\"a\",\"b\",]", "1:10" },
		{ "strings, two commas", "[\"a\",,\"b\"]", "1:6" },
		{ "strings, comma first", "[,\"a\"]", "1:2" },
		{ "strings, unclosed", "[\"a\",\"b", "1:7" },
		{ "strings, list unclosed", "[\"a\",\"b\"", "1:8" },
		{ "strings, wrong bracket", "[\"a\",\"b\"}", "1:9" },
		{ "a member in a list", "[\"a\",\"b\":1]", "1:9" },
		{ "a member first in a list", "[\"a\":1]", "1:5" },
		{ "a list as a key", "{[\"a\",\"b\"]:1}", "1:2" },
		{ "a list after a list", "{\"a\":[\"b\"][\"c\"]}", "1:11" },
		{ "a string for a member", "{\"a\":\"b\",\"c\"}", "1:13" },
		{ "strings, form feed", "[\"a\",\f\"b\"]", "1:6" },
	};

	(void)state;
	KODA_EACH(row, rows) {
		struct koda_json *root = NULL;
		struct koda_error err = { 0 };

		KODA_EXPECT(row->name, load(row->text, &root, &err) == KODA_E_POLICY);
		KODA_EXPECT(row->name, root == NULL && err.message[0] != '\0');
		if (strcmp(err.field, row->field) != 0)
			fail_msg("%s: at %s, expected %s", row->name, err.field, row->field);
	}
}

static int join(void *ctx, int arg, const struct koda_json *value, struct koda_error *err)
{
	struct koda_buf *all = ctx;
	struct koda_span text;
	int r = koda_json_string(value, &text, err);

	(void)arg;
	if (r == KODA_OK)
		r = koda_buf_add(all, text.ptr, text.len);
	return r < 0 ? r : koda_buf_add(all, "|", 1);
}

static void lists_of_strings_are_read_in_order(void **state)
{
	static const struct {
		const char *text;
		const char *joined;
		const char *field; /* of what is no string */
	} rows[] = {
		{ "[]", "", "" },
		{ "[\"\"]", "|", "" },
		{ "[\"a\"]", "a|", "" },
		{ "[ \"a\" ,\n\"\"\t, \"cc\" ]", "a||cc|", "" },
		{ "[\"a,[b\",\"\xc3\xa9\",\"c]\"]", "a,[b|\xc3\xa9|c]|", "" },
		{ "[\"\xc3\xa9\",\"b\",\"c\"]", "\xc3\xa9|b|c|", "" },
		{ "[\"a\",\"\\u0062\",\"c\"]", "a|b|c|", "" },
		{ "[\"\x7f#\",\"b\"]", "\x7f#|b|", "" },
		{ "[\"\\u007f#\",\"b\"]", "\x7f#|b|", "" },
		{ "[\"a\",\"b\",1,\"d\"]", "a|b|", "/2" },
		{ "[\"a\",\"b\",[\"c\"]]", "a|b|", "/2" },
		{ "[[\"a\"],\"b\"]", "", "/0" },
	};

	(void)state;
	KODA_EACH(row, rows) {
		koda_auto_buf struct koda_buf all = KODA_BUF_INIT(BYTES_MAX);
		struct koda_json *root = NULL;
		struct koda_error err = { 0 };
		int r = load(row->text, &root, &err);

		KODA_ASSERT_OK(r, err);
		r = koda_json_array(root, join, 0, &all, &err);

		KODA_EXPECT(row->text, r == (row->field[0] ? KODA_E_POLICY : KODA_OK));
		KODA_EXPECT(row->text, strcmp(err.field, row->field) == 0);
		KODA_EXPECT(row->text, koda_span_is(koda_buf_span(&all), row->joined));
		koda_json_free(&root);
	}
}

static void a_string_of_a_list_is_nothing_else(void **state)
{
	struct koda_json *list = NULL;
	struct koda_error err = { 0 };
	struct koda_json element;
	struct koda_span text;
	uint64_t number;
	bool on;

	(void)state;
	KODA_ASSERT_OK(load("[\"1\",\"true\",2]", &list, &err), err);
	KODA_ASSERT_OK(koda_json_element(list, 3, 1, &element, &err), err);
	KODA_ASSERT_OK(koda_json_string(&element, &text, &err), err);
	KODA_ASSERT_SPAN(text, "true");
	assert_false(koda_json_is_null(&element));
	KODA_ASSERT_FAILS(KODA_E_POLICY, koda_json_bool(&element, &on, &err), err);
	assert_string_equal(err.message, "expected true or false, found a string");
	KODA_ASSERT_FAILS(KODA_E_POLICY, koda_json_array(&element, join, 0, NULL, &err), err);
	KODA_ASSERT_FAILS(KODA_E_POLICY, koda_json_object(&element, NULL, 0, NULL, &err), err);
	KODA_ASSERT_FAILS(KODA_E_POLICY, koda_json_element(&element, 0, 0, &element, &err), err);
	KODA_ASSERT_OK(koda_json_element(list, 3, 0, &element, &err), err);
	KODA_ASSERT_FAILS(KODA_E_POLICY, koda_json_u64(&element, 9, &number, &err), err);
	KODA_ASSERT_OK(koda_json_element(list, 3, 2, &element, &err), err);
	KODA_ASSERT_OK(koda_json_u64(&element, 9, &number, &err), err);
	assert_int_equal(number, 2);
	KODA_ASSERT_FAILS(KODA_E_POLICY, koda_json_element(list, 1, 0, &element, &err), err);
	assert_string_equal(err.message, "expected a list of 1 elements, found 3");
	koda_json_free(&list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(refuses_what_is_no_list),
		cmocka_unit_test(lists_of_strings_are_read_in_order),
		cmocka_unit_test(a_string_of_a_list_is_nothing_else),
	};

	return KODA_TEST_RUN(tests);
}
