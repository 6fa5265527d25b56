/* SPDX-License-Identifier: MIT */
#include "koda_test.h"

#include "search/globset.h"

static bool matches(const char *pattern, enum fsworker_glob_flag flags, const char *path)
{
	struct fsworker_globset set;
	struct koda_error err = { 0 };
	bool found;

	KODA_ASSERT_OK(fsworker_globset_compile(koda_span_of(pattern), flags, &set, &err), err);
	found = fsworker_globset_match_path(&set, koda_span_of(path));
	fsworker_globset_clear(&set);
	return found;
}

static void a_pattern_matches_what_it_says(void **state)
{
	static const struct {
		const char *pattern, *path;
		bool want;
	} rows[] = {
		{ "a.c", "a.c", true },
		{ "a.c", "A.c", false },
		{ "a.c", "d/a.c", false },
		{ "*", "a", true },
		{ "*", "a/b", false },
		{ "*.c", "a.c", true },
		{ "*.c", ".c", true },
		{ "*.c", "a.cc", false },
		{ "a*b*c", "aXbYbZc", true },
		{ "a*b*c", "aXbYbZ", false },
		{ "**", "a", true },
		{ "**", "a/b/c", true },
		{ "**/x", "x", true },
		{ "**/x", "a/b/x", true },
		{ "**/x", "a/bx", false },
		{ "a/**", "a", false },
		{ "a/**", "a/b", true },
		{ "a/**", "a/b/c", true },
		{ "a/**/b", "a/b", true },
		{ "a/**/b", "a/x/y/b", true },
		{ "a/**/b", "a/x/y/c", false },
		{ "**/a/**/b", "x/a/a/q/b", true },
		{ "a/**/**/b", "a/b", true },
		{ "a**b", "aXXb", true },
		{ "a**b", "a/b", false },
		{ "?", "\xc3\xa4", true },
		{ "??", "\xc3\xa4", false },
		{ "?", "\xff", true },
		{ "[\xc3\xa4\xc3\xb6]", "\xc3\xb6", true },
		{ "[a-c]x", "bx", true },
		{ "[a-c]x", "dx", false },
		{ "[!a-c]x", "dx", true },
		{ "[^a-c]x", "bx", false },
		{ "[]]", "]", true },
		{ "[!]]", "]", false },
		{ "[a-]", "-", true },
		{ "[\\]]", "]", true },
		{ "[[:digit:]]", "7", true },
		{ "[[:digit:]]", "x", false },
		{ "[[:upper:]_]", "_", true },
		{ "\\*", "*", true },
		{ "\\*", "x", false },
		{ "a[/]b", "a/b", false },
		{ "*.{c,h}", "a.h", true },
		{ "*.{c,h}", "a.o", false },
		{ "{a,b/{c,d}}/e", "b/d/e", true },
		{ "{a,b/{c,d}}/e", "a/e", true },
		{ "{a,b/{c,d}}/e", "b/e", false },
		{ "{a}", "{a}", true },
		{ "{a,b", "{a,b", true },
		{ "\\{a,b}", "{a,b}", true },
		{ "{,x}y", "y", true },
		{ "a//b", "a/b", false },
	};

	(void)state;
	KODA_EACH(row, rows) {
		if (matches(row->pattern, FSWORKER_GLOB_UTF8, row->path) != row->want)
			fail_msg("%s and %s", row->pattern, row->path);
	}
	assert_true(matches("??", FSWORKER_GLOB_PLAIN, "\xc3\xa4"));
	assert_true(matches("a/**", FSWORKER_GLOB_NAME, "a/x") == false);
}

static void what_is_no_pattern_is_refused(void **state)
{
	static const struct {
		const char *pattern;
		int code;
	} rows[] = {
		{ "a[b", KODA_E_INVALID },
		{ "x/[", KODA_E_INVALID },
		{ "a\\", KODA_E_INVALID },
		{ "{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}", KODA_E_LIMIT },
	};
	struct fsworker_globset set;
	struct koda_error err = { 0 };
	char many[256];

	(void)state;
	KODA_EACH(row, rows)
		KODA_ASSERT_FAILS(row->code,
				  fsworker_globset_compile(koda_span_of(row->pattern),
							   FSWORKER_GLOB_UTF8, &set, &err),
				  err);
	for (size_t i = 0; i < sizeof(many); i++)
		many[i] = i % 2 ? '/' : 'a';
	KODA_ASSERT_FAILS(KODA_E_LIMIT,
			  fsworker_globset_compile((struct koda_span){ many, sizeof(many) },
						   FSWORKER_GLOB_UTF8, &set, &err),
			  err);
	KODA_ASSERT_FAILS(KODA_E_INVALID,
			  fsworker_globset_compile((struct koda_span){ "a\0b", 3 },
						   FSWORKER_GLOB_UTF8, &set, &err),
			  err);
}

/* Stars that each could take what another one took: with backtracking over all of them this would
 * not end. */
static void stars_do_not_multiply(void **state)
{
	char name[256], pattern[256];

	(void)state;
	memset(name, 'a', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	for (size_t i = 0; i < sizeof(pattern) - 3; i += 2)
		memcpy(pattern + i, "*a", 2);
	memcpy(pattern + sizeof(pattern) - 4, "*b", 3);
	assert_false(matches(pattern, FSWORKER_GLOB_PLAIN, name));
	memcpy(pattern + sizeof(pattern) - 4, "*a", 3);
	assert_true(matches(pattern, FSWORKER_GLOB_PLAIN, name));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_pattern_matches_what_it_says),
		cmocka_unit_test(what_is_no_pattern_is_refused),
		cmocka_unit_test(stars_do_not_multiply),
	};

	return KODA_TEST_RUN(tests);
}
