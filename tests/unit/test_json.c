/* SPDX-License-Identifier: MIT */
/* The strict reader below the policy decoder: what counts as JSON, and how a place is named. */
#include "koda_test.h"

#include "policy/json.h"

#include <koda/policy.h>

#define BYTES_MAX 64
#define DEPTH_MAX 4

static struct koda_json *load(const char *text)
{
	struct koda_json *root = NULL;
	struct koda_error err = { 0 };

	KODA_ASSERT_OK(koda_json_load((struct koda_span){ text, strlen(text) }, BYTES_MAX,
				      DEPTH_MAX, &root, &err),
		       err);
	assert_non_null(root);
	return root;
}

static void refuses_what_is_no_json(void **state)
{
	static const struct {
		const char *name;
		const char *text;
		size_t len; /* 0: up to the terminator */
		const char *field;
	} rows[] = {
		{ "blank", "  \n ", 0, "2:1" },
		{ "word", "hello", 0, "1:5" },
		{ "bare number", "1", 0, "1:1" },
		{ "bare string", "\"x\"", 0, "1:3" },
		{ "bare null", "null", 0, "1:4" },
		{ "unclosed object", "{\"a\":1", 0, "1:6" },
		{ "unclosed array", "[1", 0, "1:2" },
		{ "unclosed string", "[\"a]", 0, "1:4" },
		{ "wrong bracket", "[1}", 0, "1:3" },
		{ "missing colon", "{\"a\" 1}", 0, "1:6" },
		{ "missing comma", "[1 2]", 0, "1:4" },
		{ "trailing comma", "[1,]", 0, "1:4" },
		{ "trailing comma in object", "{\"a\":1,}", 0, "1:8" },
		{ "second document", "{} {}", 0, "1:4" },
		{ "trailing word", "{}\nx", 0, "2:1" },
		{ "trailing NUL", "{}\0", 3, "1:3" },
		{ "NUL inside", "[\0]", 3, "1:2" },
		{ "NUL in a string", "[\"\0\"]", 5, "1:2" },
		{ "line comment", "//c\n{}", 0, "1:1" },
		{ "block comment", "{/*c*/}", 0, "1:2" },
		{ "hash comment", "#c\n{}", 0, "1:1" },
		{ "single quotes", "{'a':1}", 0, "1:2" },
		{ "unquoted key", "{a:1}", 0, "1:2" },
		{ "byte order mark", "\xef\xbb\xbf{}", 0, "1:1" },
		{ "UTF-16", "{\0}\0", 4, "1:2" },
		{ "duplicate key", "{\"a\":1,\"a\":1}", 0, "1:10" },
		{ "duplicate key spelt differently", "{\"a\":1,\"\\u0061\":1}", 0, "1:15" },
		{ "duplicate key deeper", "{\"o\":{\"a\":1,\n\"a\":1}}", 0, "2:3" },
		{ "key with NUL", "{\"a\\u0000b\":1}", 0, "1:11" },
		{ "escaped NUL", "[\"a\\u0000b\"]", 0, "1:11" },
		{ "lone high surrogate", "[\"\\ud800\"]", 0, "1:9" },
		{ "lone low surrogate", "[\"\\udc00\"]", 0, "1:9" },
		{ "surrogates swapped", "[\"\\udc00\\ud800\"]", 0, "1:15" },
		{ "high surrogate twice", "[\"\\ud800\\ud800\"]", 0, "1:15" },
		{ "high surrogate and letter", "[\"\\ud800\\u0041\"]", 0, "1:15" },
		{ "truncated escape", "[\"\\u12\"]", 0, "1:7" },
		{ "unknown escape", "[\"\\x41\"]", 0, "1:4" },
		{ "raw surrogate", "[\"\xed\xa0\x80\"]", 0, "1:2" },
		{ "overlong slash", "[\"\xc0\xaf\"]", 0, "1:2" },
		{ "overlong NUL", "[\"\xc0\x80\"]", 0, "1:2" },
		{ "stray continuation", "[\"\x80\"]", 0, "1:2" },
		{ "truncated sequence", "[\"\xe2\x82\"]", 0, "1:2" },
		{ "beyond Unicode", "[\"\xf4\x90\x80\x80\"]", 0, "1:2" },
		{ "Latin-1", "[\"\xfc\"]", 0, "1:2" },
		{ "raw newline in a string", "[\"a\nb\"]", 0, "1:3" },
		{ "raw control byte in a string", "[\"\x01\"]", 0, "1:2" },
		{ "leading zero", "[01]", 0, "1:2" },
		{ "plus sign", "[+1]", 0, "1:2" },
		{ "hexadecimal", "[0x1]", 0, "1:3" },
		{ "not a number", "[NaN]", 0, "1:4" },
		{ "infinity", "[Infinity]", 0, "1:9" },
		{ "capital true", "[True]", 0, "1:5" },
		{ "over int64", "[9223372036854775808]", 0, "1:20" },
		{ "under int64", "[-9223372036854775809]", 0, "1:21" },
		{ "real overflow", "[1e999]", 0, "1:6" },
	};

	(void)state;
	KODA_EACH(row, rows) {
		struct koda_span text = { row->text, row->len ? row->len : strlen(row->text) };
		struct koda_json *root = NULL;
		struct koda_error err = { 0 };
		int r = koda_json_load(text, BYTES_MAX, DEPTH_MAX, &root, &err);

		KODA_EXPECT(row->name, r == KODA_E_POLICY && err.code == KODA_E_POLICY);
		KODA_EXPECT(row->name, root == NULL && err.message[0] != '\0');
		if (strcmp(err.field, row->field) != 0)
			fail_msg("%s: at %s, expected %s", row->name, err.field, row->field);
	}
}

static void empty_text_is_named_as_such(void **state)
{
	struct koda_json *root = NULL;
	struct koda_error err = { 0 };

	(void)state;
	KODA_ASSERT_FAILS(KODA_E_POLICY,
			  koda_json_load((struct koda_span){ "", 0 }, 1, 1, &root, &err), err);
	assert_string_equal(err.field, "1:1");
	KODA_ASSERT_FAILS(KODA_E_POLICY,
			  koda_json_load((struct koda_span){ NULL, 0 }, 1, 1, &root, &err), err);
	assert_null(root);
}

static void text_may_be_as_long_as_the_limit_and_no_longer(void **state)
{
	struct koda_json *root = NULL;
	struct koda_error err = { 0 };

	(void)state;
	KODA_ASSERT_OK(koda_json_load((struct koda_span){ "[1]", 3 }, 3, 1, &root, &err), err);
	koda_json_free(&root);
	assert_null(root);
	KODA_ASSERT_FAILS(KODA_E_LIMIT,
			  koda_json_load((struct koda_span){ "[1]", 3 }, 2, 1, &root, &err), err);
	assert_null(root);
}

static void nesting_is_counted_outside_strings_only(void **state)
{
	static const struct {
		const char *name;
		const char *text;
		int code;
		const char *field;
	} rows[] = {
		{ "as deep as allowed", "[[[[]]]]", KODA_OK, "" },
		{ "objects count too", "{\"a\":[{\"a\":[]}]}", KODA_OK, "" },
		{ "many, but side by side", "[[],[],[],[],[],[],[]]", KODA_OK, "" },
		{ "brackets in a string", "[\"[[[[[[[[{{{{{{\"]", KODA_OK, "" },
		{ "behind an escaped quote", "[\"\\\"[[[[[[[[\"]", KODA_OK, "" },
		{ "behind an escaped backslash", "[\"\\\\\",[[[[]]]]]", KODA_E_LIMIT, "1:10" },
		{ "one too deep", "[[[[[]]]]]", KODA_E_LIMIT, "1:5" },
		{ "one too deep on line 3", "[\n[[\n[ [", KODA_E_LIMIT, "3:3" },
		{ "never closed", "[[[[[[[[[[[[[[[", KODA_E_LIMIT, "1:5" },
		{ "closing more than was opened", "]]]]]]", KODA_E_POLICY, "1:1" },
	};

	(void)state;
	KODA_EACH(row, rows) {
		struct koda_json *root = NULL;
		struct koda_error err = { 0 };
		int r = koda_json_load((struct koda_span){ row->text, strlen(row->text) },
				       BYTES_MAX, DEPTH_MAX, &root, &err);

		KODA_EXPECT(row->name, r == row->code);
		KODA_EXPECT(row->name, (root != NULL) == (r == KODA_OK));
		KODA_EXPECT(row->name, strcmp(err.field, row->field) == 0);
		koda_json_free(&root);
	}
}

/* 100,000 brackets meet the count, not the parser's stack. */
static void a_depth_bomb_is_refused(void **state)
{
	const size_t len = 100000;
	char *text = malloc(len);

	(void)state;
	assert_non_null(text);
	for (int object = 0; object < 2; object++) {
		struct koda_json *root = NULL;
		struct koda_error err = { 0 };

		memset(text, object ? '{' : '[', len);
		KODA_ASSERT_FAILS(
			KODA_E_LIMIT,
			koda_json_load((struct koda_span){ text, len }, len, 16, &root, &err), err);
		assert_string_equal(err.field, "1:17");
		assert_null(root);
	}
	free(text);
}

/* A mebibyte of escapes: each step must cost the same, however much text is still to come. */
static void a_long_string_of_escapes_is_read(void **state)
{
	const size_t len = 1024 * 1024;
	struct koda_json element;
	struct koda_json *root = NULL;
	struct koda_span got = { NULL, 0 };
	struct koda_error err = { 0 };
	char *text = malloc(len);

	(void)state;
	assert_non_null(text);
	memset(text, '\\', len);
	memcpy(text, "[\"", 2);
	memcpy(text + len - 2, "\"]", 2);
	KODA_ASSERT_OK(koda_json_load((struct koda_span){ text, len }, len, 1, &root, &err), err);
	KODA_ASSERT_OK(koda_json_element(root, 1, 0, &element, &err), err);
	KODA_ASSERT_OK(koda_json_string(&element, &got, &err), err);
	assert_int_equal(got.len, (len - 4) / 2);
	koda_json_free(&root);
	free(text);
}

/* What read() saw: the sum shows that every value came by, arg that the right field did. */
struct seen {
	uint64_t sum;
	unsigned int args;
};

static int read_number(void *ctx, int arg, const struct koda_json *value, struct koda_error *err)
{
	struct seen *seen = ctx;
	uint64_t number;
	int r = koda_json_u64(value, 1000, &number, err);

	if (r == KODA_OK) {
		seen->sum += number;
		seen->args |= 1U << arg;
	}
	return r;
}

static int read_numbers(void *ctx, int arg, const struct koda_json *value, struct koda_error *err)
{
	return koda_json_array(value, read_number, arg, ctx, err);
}

static const struct koda_json_field fields[] = {
	{ "one", read_number, 1 },
	{ "two", read_number, 2 },
	{ "many", read_numbers, 3 },
};

static void an_object_is_read_field_by_field(void **state)
{
	struct koda_json *root = load("{\"many\":[1,2,3],\"one\":10,\"two\":100}");
	struct koda_error err = { 0 };
	struct seen seen = { 0 };

	(void)state;
	KODA_ASSERT_OK(koda_json_object(root, fields, 3, &seen, &err), err);
	assert_int_equal(seen.sum, 116);
	assert_int_equal(seen.args, 1U << 1 | 1U << 2 | 1U << 3);
	koda_json_free(&root);
}

static void the_place_is_a_json_pointer(void **state)
{
	static const struct {
		const char *text;
		const char *field;
	} rows[] = {
		{ "[]", "" },
		{ "{\"three\":1}", "/three" },
		{ "{\"One\":1}", "/One" },
		{ "{\"\":1}", "/" },
		{ "{\"a/b~c\":1}", "/a~1b~0c" },
		{ "{\"a\\nb\\u007f\":1}", "/a\\x0ab\\x7f" },
		{ "{\"one\":\"1\"}", "/one" },
		{ "{\"one\":-1}", "/one" },
		{ "{\"one\":1001}", "/one" },
		{ "{\"one\":1.0}", "/one" },
		{ "{\"one\":1e2}", "/one" },
		{ "{\"one\":null}", "/one" },
		{ "{\"one\":true}", "/one" },
		{ "{\"many\":1}", "/many" },
		{ "{\"many\":{}}", "/many" },
		{ "{\"many\":[1,2,{}]}", "/many/2" },
	};

	(void)state;
	KODA_EACH(row, rows) {
		struct koda_json *root = load(row->text);
		struct koda_error err = { 0 };
		struct seen seen = { 0 };
		int r = koda_json_object(root, fields, 3, &seen, &err);

		KODA_EXPECT(row->text, r == KODA_E_POLICY && err.code == KODA_E_POLICY);
		KODA_EXPECT(row->text, strcmp(err.field, row->field) == 0);
		koda_json_free(&root);
	}
}

/* A key of any length leaves the field a terminated string that starts at the root. */
static void a_long_key_is_cut_in_the_place(void **state)
{
	char text[300];
	struct koda_json *root = NULL;
	struct koda_error err = { 0 };
	struct seen seen = { 0 };

	(void)state;
	memset(text, '/', sizeof(text));
	memcpy(text, "{\"", 2);
	memcpy(text + sizeof(text) - 4, "\":1}", 4);
	KODA_ASSERT_OK(koda_json_load((struct koda_span){ text, sizeof(text) }, sizeof(text), 1,
				      &root, &err),
		       err);
	KODA_ASSERT_FAILS(KODA_E_POLICY, koda_json_object(root, fields, 3, &seen, &err), err);
	assert_int_equal(strncmp(err.field, "/~1~1~1", 7), 0);
	assert_true(strlen(err.field) < sizeof(err.field));
	koda_json_free(&root);
}

static void an_element_needs_the_exact_count(void **state)
{
	struct koda_json *pair = load("[1,[2,3]]");
	struct koda_json *object = load("{}");
	struct koda_json element = { 0 };
	struct koda_error err = { 0 };
	struct seen seen = { 0 };

	(void)state;
	KODA_ASSERT_OK(koda_json_element(pair, 2, 1, &element, &err), err);
	KODA_ASSERT_OK(koda_json_array(&element, read_number, 0, &seen, &err), err);
	assert_int_equal(seen.sum, 5);
	element = (struct koda_json){ 0 };
	KODA_ASSERT_FAILS(KODA_E_POLICY, koda_json_element(pair, 3, 0, &element, &err), err);
	KODA_ASSERT_FAILS(KODA_E_POLICY, koda_json_element(pair, 1, 0, &element, &err), err);
	KODA_ASSERT_FAILS(KODA_E_POLICY, koda_json_element(object, 0, 0, &element, &err), err);
	assert_null(element.node);
	koda_json_free(&pair);
	koda_json_free(&object);
}

static void values_are_only_what_they_are(void **state)
{
	struct koda_json *list = load("[true,false,\"\",\"a\\u00e9\\/\",null,0,1]");
	struct koda_json v[7];
	struct koda_error err = { 0 };
	struct koda_span text = { NULL, 0 };
	uint64_t number = 7;
	bool on = false;

	(void)state;
	for (size_t i = 0; i < 7; i++)
		KODA_ASSERT_OK(koda_json_element(list, 7, i, &v[i], &err), err);
	KODA_ASSERT_OK(koda_json_bool(&v[0], &on, &err), err);
	assert_true(on);
	KODA_ASSERT_OK(koda_json_bool(&v[1], &on, &err), err);
	assert_false(on);
	KODA_ASSERT_FAILS(KODA_E_POLICY, koda_json_bool(&v[6], &on, &err), err);
	KODA_ASSERT_OK(koda_json_string(&v[2], &text, &err), err);
	assert_int_equal(text.len, 0);
	KODA_ASSERT_OK(koda_json_string(&v[3], &text, &err), err);
	KODA_ASSERT_SPAN(text, "a\xc3\xa9/");
	KODA_ASSERT_FAILS(KODA_E_POLICY, koda_json_string(&v[4], &text, &err), err);
	assert_true(koda_json_is_null(&v[4]));
	assert_false(koda_json_is_null(&v[5]));
	KODA_ASSERT_OK(koda_json_u64(&v[5], 0, &number, &err), err);
	assert_int_equal(number, 0);
	KODA_ASSERT_FAILS(KODA_E_POLICY, koda_json_u64(&v[6], 0, &number, &err), err);
	assert_int_equal(number, 0);
	koda_json_free(&list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(refuses_what_is_no_json),
		cmocka_unit_test(empty_text_is_named_as_such),
		cmocka_unit_test(text_may_be_as_long_as_the_limit_and_no_longer),
		cmocka_unit_test(nesting_is_counted_outside_strings_only),
		cmocka_unit_test(a_depth_bomb_is_refused),
		cmocka_unit_test(a_long_string_of_escapes_is_read),
		cmocka_unit_test(an_object_is_read_field_by_field),
		cmocka_unit_test(the_place_is_a_json_pointer),
		cmocka_unit_test(a_long_key_is_cut_in_the_place),
		cmocka_unit_test(an_element_needs_the_exact_count),
		cmocka_unit_test(values_are_only_what_they_are),
	};

	return KODA_TEST_RUN(tests);
}
