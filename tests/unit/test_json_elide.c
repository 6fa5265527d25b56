/* SPDX-License-Identifier: MIT */
/* The strings of lists in a JSON text, taken out and found again. */
#include "koda_test.h"

#include "policy/json_elide.h"

#include <koda/policy.h>

static void what_cannot_be_wrong_is_taken_out(void **state)
{
	static const struct {
		const char *name;
		const char *text;
		const char *elided; /* NULL: the text stays */
	} rows[] = {
		{ "nothing", "{}", NULL },
		{ "no string", "[1,[],{}]", NULL },
		{ "one", "[\"a\"]", "[\"\x7f#\"]" },
		{ "empty", "[\"\"]", "[\"\x7f#\"]" },
		{ "several", "[\"123456789\",\"short\",\"abcdefghijklmnopq\"]", "[\"\x7f#\"]" },
		{ "blanks between", "[ \"a\"\t,\r\n \"b\" ]", "[ \"\x7f#\" ]" },
		{ "something else behind", "[\"a\", \"b\", 1, \"c\"]", "[\"\x7f#\", 1, \"c\"]" },
		{ "something else before", "[1, \"a\"]", NULL },
		{ "two lists", "{\"x\":[\"a\"],\"y\":[\"b\",\"c\"]}",
		  "{\"x\":[\"\x7f#\"],\"y\":[\"\x7f$\"]}" },
		{ "lists in a list", "[[\"a\",\"b\"],[\"c\"]]", "[[\"\x7f#\"],[\"\x7f$\"]]" },
		{ "a bracket in a string", "{\"[\":\"[\", \"a\":1}", NULL },
		{ "a bracket ends a key", "{\"x[\" : \"a\"}", NULL },
		{ "a value", "{\"a long key\":\"a long value\"}", NULL },
		{ "what should be a member", "{\"a\":\"b\",\"c\"}", NULL },
		{ "a missing comma", "[\"a\" \"b\"]", "[\"\x7f#\" \"b\"]" },
		{ "two commas", "[\"a\",,\"b\"]", "[\"\x7f#\",,\"b\"]" },
		{ "a comma at the end", "[\"a\",]", "[\"\x7f#\",]" },
		{ "a comma and no more", "[\"a\",", "[\"\x7f#\"," },
		{ "a colon", "[\"a\",\"b\":1]", "[\"\x7f#\":1]" },
		{ "a backslash anywhere", "[\"12345678\",\"\\n\"]", NULL },
		{ "the sign anywhere", "[\"12345678\",\"\x7f\"]", NULL },
		{ "control character", "[\"1234567\n\",\"12345678\"]", NULL },
		{ "control character, short", "[\"\x1f\"]", NULL },
		{ "control character later", "[\"12345678\",\"1234567\n\",\"a\"]",
		  "[\"\x7f#\",\"1234567\n\",\"a\"]" },
		{ "control character first", "[\"\t1234567890123456\"]", NULL },
		{ "control character in the middle", "[\"1234567\x1f\x20\x20zzzzzzz\"]", NULL },
		{ "not ASCII", "[\"123456\xc3\xa9\"]", NULL },
		{ "not ASCII, short", "[\"\xc3\xa9\"]", NULL },
		{ "not ASCII, last of many", "[\"12345678901234567\xff\"]", NULL },
		{ "blanks", "[\"        \"]", "[\"\x7f#\"]" },
		{ "tildes", "[\"~~~~~~~~\"]", "[\"\x7f#\"]" },
		{ "unclosed", "[\"12345678\", \"12345678", "[\"\x7f#\", \"12345678" },
	};

	(void)state;
	KODA_EACH(row, rows) {
		koda_auto_json_elided struct koda_json_elided elided = KODA_JSON_ELIDED_INIT;

		assert_int_equal(koda_json_elide(koda_span_of(row->text), &elided), KODA_OK);
		KODA_EXPECT(row->name, (elided.count > 0) == (row->elided != NULL));
		if (row->elided)
			KODA_ASSERT_SPAN(koda_buf_span(&elided.text), row->elided);
	}
}

static void strings_are_found_by_what_stands_for_them(void **state)
{
	koda_auto_json_elided struct koda_json_elided elided = KODA_JSON_ELIDED_INIT;
	koda_auto_buf struct koda_buf text = KODA_BUF_INIT(1 << 20);
	const char *p;

	(void)state;
	/* More than two digits count. */
	for (int i = 0; i < 4000; i++)
		assert_int_equal(koda_buf_addf(&text, "[\"string %04d\" , \"%d\"]", i, i), KODA_OK);
	assert_int_equal(koda_json_elide(koda_buf_span(&text), &elided), KODA_OK);
	assert_int_equal(elided.count, 4000);
	p = elided.text.ptr;
	for (int i = 0; i < 4000; i++) {
		const char *end = strchr(p + 2, '"');
		struct koda_span sign = { p + 2, (size_t)(end - p) - 2 };
		struct koda_span run = koda_json_elided_find(&elided, sign);
		struct koda_span found;
		char want[16];

		(void)snprintf(want, sizeof(want), "string %04d", i);
		assert_true(koda_json_elided_next(&run, &found));
		KODA_ASSERT_SPAN(found, want);
		assert_true(koda_json_elided_next(&run, &found));
		KODA_ASSERT_SPAN(found, want + strlen(want) -
						(i < 10     ? 1
						 : i < 100  ? 2
						 : i < 1000 ? 3
							    : 4));
		assert_false(koda_json_elided_next(&run, &found));
		p = end + 2;
	}
	assert_int_equal(koda_json_elided_find(&elided, koda_span_of("")).len, 0);
	assert_int_equal(koda_json_elided_find(&elided, koda_span_of("#")).len, 0);
	assert_int_equal(koda_json_elided_find(&elided, koda_span_of("\x7f")).len, 0);
	assert_int_equal(koda_json_elided_find(&elided, koda_span_of("\x7f[[[[")).len, 0);
	assert_int_equal(koda_json_elided_find(&elided, koda_span_of("\x7f#####")).len, 0);
}

/* The same policy from a text that is not elided, because one letter is spelt as an escape. */
static void a_policy_is_the_same_either_way(void **state)
{
	static const char head[] = "{\"fs\":{\"deny_read\":[\"/secret/one\"";
	static const char spelt[] = "{\"fs\":{\"deny_read\":[\"/\\u0073ecret/one\"";
	static const char rest[] =
		",\"/s\",\"/secret/two\",\"%/secret/%FFthree\",\"/caf\xc3\xa9/menu/long\"],"
		"\"allow_write\":[\"/some/where\"]},\"limits\":{\"wall_time_secs\":12345678},"
		"\"net\":{\"allowed_domains\":[\"host.example.com:443\",\"*.example.org\"],"
		"\"mitm\":{\"ca_bundle\":\"/etc/ca/bundle.pem\",\"socket_map\":"
		"[[\"one.example.com\",\"/run/one.sock\"]]}},\"trust\":\"require\"}";
	koda_auto_buf struct koda_buf a = KODA_BUF_INIT(4096);
	koda_auto_buf struct koda_buf b = KODA_BUF_INIT(4096);
	struct koda_policy *short_way = NULL;
	struct koda_policy *long_way = NULL;
	struct koda_error err = { 0 };

	(void)state;
	assert_int_equal(koda_buf_addf(&a, "%s%s", head, rest), KODA_OK);
	assert_int_equal(koda_buf_addf(&b, "%s%s", spelt, rest), KODA_OK);
	KODA_ASSERT_OK(koda_policy_parse(a.ptr, a.len, &short_way, &err), err);
	KODA_ASSERT_OK(koda_policy_parse(b.ptr, b.len, &long_way, &err), err);
	assert_true(koda_policy_equal(short_way, long_way));
	KODA_ASSERT_SPAN(koda_policy_get(short_way, KODA_LIST_DENY_READ, 2), "/secret/two");
	koda_policy_free(short_way);
	koda_policy_free(long_way);
}

static void places_of_errors_are_those_of_the_whole_text(void **state)
{
	static const char text[] = "{\"fs\":{\"deny_read\":[\"/a/long/path\",\"/another/one\" x]}}";
	struct koda_policy *policy = NULL;
	struct koda_error err = { 0 };

	(void)state;
	KODA_ASSERT_FAILS(KODA_E_POLICY, koda_policy_parse(text, sizeof(text) - 1, &policy, &err),
			  err);
	assert_string_equal(err.field, "1:51");
	assert_null(policy);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_cannot_be_wrong_is_taken_out),
		cmocka_unit_test(strings_are_found_by_what_stands_for_them),
		cmocka_unit_test(a_policy_is_the_same_either_way),
		cmocka_unit_test(places_of_errors_are_those_of_the_whole_text),
	};

	return KODA_TEST_RUN(tests);
}
