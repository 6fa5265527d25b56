/* SPDX-License-Identifier: MIT */
/* Expressions: the short cuts find what PCRE2 finds line by line, and hostile ones end. */
#include "../lib/search_rig.h"

#include "base/macros.h"
#include "search/literal.h"
#include "search/matcher.h"

#include <time.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

static void the_literal_of_an_expression_is_in_all_it_matches(void **state)
{
	static const struct {
		const char *pattern, *want;
		bool whole;
	} rows[] = {
		{ "hello", "hello", true },
		{ "he.lo", "he", false },
		{ "a.hello", "hello", false },
		{ "hellos?", "hello", false },
		{ "hello+x", "hello", false },
		{ "sel{2}o", "se", false },
		{ "\xc3\xa4*bc", "bc", false },
		{ "abc|d", "", false },
		{ "(abc|d)ef", "ef", false },
		{ "(?:abc)+ef", "ef", false },
		{ "(?i)abc", "", false },
		{ "abc(?=d)", "", false },
		{ "(*UTF)abc", "", false },
		{ "a\\.b\\(c", "a.b(c", false },
		{ "foo\\d+barbaz", "barbaz", false },
		{ "foo\\x41", "", false },
		{ "\\Qa.b\\E", "", false },
		{ "x{a|b}cde", "", false },
		{ "x{foo}bar", "foo", false },
		{ "[]|x]foo", "foo", false },
		{ "[[]|x]foo", "", false },
		{ "[[:alpha:]abc]de", "", false },
		{ "[a\\]b]cd", "cd", false },
		{ "^foo$", "foo", false },
		{ "foo)", "", false },
		{ "", "", false },
		{ ".*", "", false },
	};

	(void)state;
	KODA_EACH(row, rows) {
		koda_auto_buf struct koda_buf out = KODA_BUF_INIT(4096);
		bool whole;

		assert_int_equal(
			fsworker_literal_required(koda_span_of(row->pattern), &out, &whole),
			KODA_OK);
		if (!koda_span_is(koda_buf_span(&out), row->want) || whole != row->whole)
			fail_msg("%s: %.*s", row->pattern, (int)out.len, out.len ? out.ptr : "");
	}
}

static void a_literal_is_found_wherever_it_is(void **state)
{
	char text[4096];
	struct koda_span literal = { "eea", 3 };

	(void)state;
	/* Bytes that are frequent here, so that both ways of finding it are taken. */
	memset(text, 'e', sizeof(text));
	for (size_t at = 0; at + 3 <= sizeof(text); at += 97) {
		const char *found;

		text[at + 2] = 'a';
		for (size_t rarest = 0; rarest < 3; rarest++) {
			found = fsworker_literal_find(literal, rarest,
						      (struct koda_span){ text, sizeof(text) });
			assert_ptr_equal(found, text + at);
			assert_null(fsworker_literal_find(literal, rarest,
							  (struct koda_span){ text, at + 2 }));
		}
		text[at + 2] = 'e';
	}
}

/* What a line-by-line search with the library alone finds. */
static void slow_grep(const char *pattern, uint32_t flags, const char *text, struct koda_buf *out)
{
	uint32_t options = PCRE2_MULTILINE | PCRE2_UTF | PCRE2_UCP | PCRE2_MATCH_INVALID_UTF;
	pcre2_compile_context *context = pcre2_compile_context_create(NULL);
	pcre2_match_data *match = pcre2_match_data_create(1, NULL);
	pcre2_code *code;
	PCRE2_SIZE at;
	int reason;

	(void)pcre2_set_newline(context, PCRE2_NEWLINE_ANYCRLF);
	code = pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED,
			     options | (flags & KODA_FS_IGNORE_CASE ? PCRE2_CASELESS : 0), &reason,
			     &at, context);
	assert_non_null(code);
	for (unsigned long long number = 1; *text; number++) {
		size_t len = strcspn(text, "\n");
		size_t bare = len && text[len - 1] == '\r' ? len - 1 : len;

		if (pcre2_match(code, (PCRE2_SPTR)text, bare, 0, 0, match, NULL) >= 0)
			assert_int_equal(
				koda_buf_addf(out, "f:%llu:%.*s\n", number, (int)bare, text),
				KODA_OK);
		text += len + (text[len] == '\n');
	}
	pcre2_code_free(code);
	pcre2_match_data_free(match);
	pcre2_compile_context_free(context);
}

static const char *const tried[] = { "foo",
				     "foo*",
				     "o\\s+b",
				     "[^x]+r",
				     "^$",
				     "^",
				     "$",
				     "foo$",
				     "^bar",
				     "\\bbar\\b",
				     "o\\b",
				     "\\Bo",
				     "foo(?!bar)",
				     "(?<!f)oo",
				     "(?<=\\s)bar",
				     "[^x]*+$",
				     "(?>\\s*)bar",
				     "\\Afoo",
				     "bar\\z",
				     "bar\\Z",
				     "(a|b)a\\1",
				     "x*",
				     ".",
				     "\\s",
				     "\\W\\W",
				     "foo|bar",
				     "(?i)FOO",
				     "\\d{2,}",
				     "[[:digit:]]+b",
				     "a.c",
				     "\xc3\xa4",
				     "\\w\xc3\xb6",
				     "f.{3}r",
				     "(?:foo|)bar",
				     "(?m)r$",
				     "b[^a]",
				     "\\x{e4}",
				     "oo\\r?$",
				     "\\R",
				     "\\N+r",
				     "(?s)o.+b",
				     "o\\Kbar",
				     "o{1,2}bar",
				     "[\\s\\S]+bar$",
				     "foo\\h",
				     "\\Qa.c\\E",
				     "(*ANYCRLF)^b",
				     "a*+b" };
static const char *const lines[] = {
	"foo",      "bar", "foobar",  "foo bar", "",    " ",   "\tbar",
	"xfoo",     "aba", "abc a.c", "12 3b",   "FOO", "Bar", "\xc3\xa4\xc3\xb6",
	"\xff foo", "o",   "  bar  "
};

static void short_cuts_find_what_a_plain_search_finds(void **state)
{
	struct koda_rng rng = koda_rng_new();

	for (size_t round = 0; round < 4 * KODA_ARRAY_LEN(tried); round++) {
		koda_auto_buf struct koda_buf text = KODA_BUF_INIT(1 << 20);
		koda_auto_buf struct koda_buf want = KODA_BUF_INIT(1 << 20);
		struct search_rig rig = { .dir = *state,
					  .pattern = tried[round % KODA_ARRAY_LEN(tried)],
					  .flags = round % 3 ? 0 : KODA_FS_IGNORE_CASE };

		for (size_t n = 1 + koda_rng_below(&rng, 40); n > 0; n--)
			assert_int_equal(
				koda_buf_addf(&text, "%s%s",
					      lines[koda_rng_below(&rng, KODA_ARRAY_LEN(lines))],
					      koda_rng_one_in(&rng, 4) ? "\r\n" : "\n"),
				KODA_OK);
		if (koda_rng_one_in(&rng, 2))
			text.ptr[--text.len] = '\0';
		search_rig_rewrite(*state, "f", text.ptr);
		slow_grep(rig.pattern, rig.flags, text.ptr, &want);
		(void)search_rig_report(&rig, true);
		if (!koda_span_eq(koda_buf_span(&rig.out), koda_buf_span(&want)))
			fail_msg("%s (flags %u) in\n%s\nfound\n%sexpected\n%s", rig.pattern,
				 rig.flags, text.ptr, rig.out.len ? rig.out.ptr : "",
				 want.len ? want.ptr : "");
		koda_buf_clear(&rig.out);
	}
}

static void wrong_expressions_are_refused_with_the_place(void **state)
{
	static const struct {
		const char *pattern, *place;
	} rows[] = { { "a(b", "at byte 3" }, { "a[b", "at byte 3" }, { "*", "at byte 0" },
		     { "a\\C", "byte" },     { "a\nb", "newline" },  { "(?<n>x)(?<n>y)", "byte" } };
	char longest[20000];
	struct search_rig rig = { .dir = *state };

	KODA_EACH(row, rows) {
		rig.pattern = row->pattern;
		KODA_ASSERT_FAILS(KODA_E_INVALID, search_rig_run(&rig, true), rig.err);
		KODA_EXPECT(row->pattern, strstr(rig.err.message, row->place));
	}
	memset(longest, '(', sizeof(longest));
	rig.span = (struct koda_span){ longest, sizeof(longest) };
	KODA_ASSERT_FAILS(KODA_E_LIMIT, search_rig_run(&rig, true), rig.err);
	rig.span.len = 10000;
	KODA_ASSERT_FAILS(KODA_E_INVALID, search_rig_run(&rig, true), rig.err);
}

static void a_literal_is_no_expression(void **state)
{
	struct search_rig rig = { .dir = *state, .pattern = "a.(", .flags = KODA_FS_LITERAL };

	(void)koda_make_file(*state, "f", "a.(\nabc\nA.(\n");
	assert_string_equal(search_rig_report(&rig, true), "f:1:a.(\n");
	rig.flags |= KODA_FS_IGNORE_CASE;
	assert_string_equal(search_rig_report(&rig, true), "f:1:a.(\nf:3:A.(\n");
	koda_buf_clear(&rig.out);
}

/* Expressions that would take longer than the universe has. Processor time, so that load on the
 * machine does not count; it is far below what they would take. */
static void hostile_expressions_end(void **state)
{
	static const char *const patterns[] = { "(a+)+$",
						"(a|a)*b",
						"(a*)*b",
						"(.*)*x(.*)*y",
						"(a?){40}a{40}b",
						"(?:a+)+(?=b)",
						"^(([a-z])+.)+[A-Z]([a-z])+$" };
	char text[40000];

	memset(text, 'a', sizeof(text));
	text[sizeof(text) - 2] = '!';
	text[sizeof(text) - 1] = '\0';
	(void)koda_make_file(*state, "f", text);
	KODA_EACH(pattern, patterns) {
		struct search_rig rig = { .dir = *state, .pattern = *pattern };
		clock_t start = clock();
		int rc = search_rig_run(&rig, true);

		if (rc != KODA_OK)
			KODA_ASSERT_FAILS(KODA_E_LIMIT, rc, rig.err);
		KODA_EXPECT(*pattern, clock() - start < 20 * CLOCKS_PER_SEC);
		koda_buf_clear(&rig.out);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_literal_of_an_expression_is_in_all_it_matches),
		cmocka_unit_test(a_literal_is_found_wherever_it_is),
		KODA_SCRATCH_TEST(short_cuts_find_what_a_plain_search_finds),
		KODA_SCRATCH_TEST(wrong_expressions_are_refused_with_the_place),
		KODA_SCRATCH_TEST(a_literal_is_no_expression),
		KODA_SCRATCH_TEST(hostile_expressions_end),
	};

	return KODA_TEST_RUN(tests);
}
