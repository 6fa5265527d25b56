/* SPDX-License-Identifier: MIT */
/* T-44 the format of git's configuration. The expected settings are those that git 2.39 lists. */
#include "koda_test.h"

#include "../lib/scratch.h"
#include "base/buf.h"
#include "run/project/git_config.h"

static int see(void *ctx, const struct koda_git_setting *setting, struct koda_error *err)
{
	struct koda_buf *out = ctx;

	(void)err;
	return koda_buf_addf(out, "%s|%s|%s|%s\n", setting->section, setting->subsection,
			     setting->name, setting->value);
}

static void settings_are_read(void **state)
{
	static const struct {
		const char *text;
		const char *settings;
	} rows[] = {
		{ "", "" },
		{ "[core]\n\thooksPath = .husky/_\n", "core||hookspath|.husky/_\n" },
		{ "[CORE] HooksPath=x", "core||hookspath|x\n" },
		{ "[a]\r\nb = c\r\n", "a||b|c\n" },
		{ "\xEF\xBB\xBF[a]b=c", "a||b|c\n" },
		/* comments and blanks */
		{ "# [a]\n; [b]\n[a] # c\nb = c # d\ne = f ; g\n", "a||b|c\na||e|f\n" },
		{ "[a]\n  b  =  c  d  \n", "a||b|c  d\n" },
		{ "[a]\nb = \" c \" \ne = \"e # f\"\n", "a||b| c \na||e|e # f\n" },
		{ "[a]\nb = c\"d e\"f\n", "a||b|cd ef\n" },
		/* escapes, lines that go on */
		{ "[a]\nb = \\\"c\\\\\\td\\n\n", "a||b|\"c\\\td\n\n" },
		{ "[a]\nb = c\\\nx\n", "a||b|cx\n" },
		{ "[a]\nb = c\\\r\n  d\n", "a||b|c  d\n" },
		{ "[a]\nb = c # d\\\ne = f\n", "a||b|c\na||e|f\n" },
		/* without a value */
		{ "[a]\nb\nc =\n", "a||b|\na||c|\n" },
		{ "[a]b", "a||b|\n" },
		/* subsections */
		{ "[a \"B c\"]\nx = e\n", "a|B c|x|e\n" },
		{ "[a \"b\\\"c\\d\"]e=f", "a|b\"cd|e|f\n" },
		{ "[a.B]c=d", "a|b|c|d\n" },
		{ "[includeIf \"gitdir:~/w/\"]\npath = x\n", "includeif|gitdir:~/w/|path|x\n" },
		{ "[a \"b\"]c=d\n[a]e=f\n", "a|b|c|d\na||e|f\n" },
		/* what git refuses: what can be told is told */
		{ "[a]\n= x\nb = c\n", "a||b|c\n" },
		{ "[a]\nb = \"c\nx = e\n", "a||x|e\n" },
		{ "[a]\nb = \\x\nx = e\n", "a||x|e\n" },
		{ "[a]\nb c\nx = e\n", "a||x|e\n" },
		{ "[a \"b\n]\nc = d\n", "a|b|c|d\n" },
		{ "[a \"b\\", "" },
		{ "[", "" },
		{ "[a", "" },
		{ "[a]\nb = \"", "" },
		{ "[a]\nb = \\", "a||b|\n" },
		{ "b = c\n", "||b|c\n" },
	};

	(void)state;
	KODA_EACH(row, rows) {
		koda_auto_buf struct koda_buf out = KODA_BUF_INIT(4096);
		struct koda_error err = { 0 };

		KODA_ASSERT_OK(koda_git_config_parse(koda_span_of(row->text), see, &out, &err),
			       err);
		if (strcmp(out.len ? out.ptr : "", row->settings) != 0)
			fail_msg("%s: %s", row->text, out.len ? out.ptr : "nothing");
	}
}

static void a_nul_ends_a_value_and_no_more(void **state)
{
	static const char text[] = "[a]\nb = c\0d\ne = f\n";
	koda_auto_buf struct koda_buf out = KODA_BUF_INIT(4096);
	struct koda_error err = { 0 };

	(void)state;
	KODA_ASSERT_OK(koda_git_config_parse((struct koda_span){ text, sizeof(text) - 1 }, see,
					     &out, &err),
		       err);
	assert_string_equal(out.ptr, "a||b|c\na||e|f\n");
}

static int refuse(void *ctx, const struct koda_git_setting *setting, struct koda_error *err)
{
	(void)setting;
	(void)err;
	++*(int *)ctx;
	return KODA_E_LIMIT;
}

static void a_refusal_ends_the_reading(void **state)
{
	struct koda_error err = { 0 };
	int calls = 0;

	(void)state;
	assert_int_equal(
		koda_git_config_parse(koda_span_of("[a]\nb=1\nc=2\n"), refuse, &calls, &err),
		KODA_E_LIMIT);
	assert_int_equal(calls, 1);
}

static void files_are_read_but_no_links(void **state)
{
	koda_auto_buf struct koda_buf out = KODA_BUF_INIT(4096);
	struct koda_error err = { 0 };

	(void)koda_make_file(*state, "config", "[a]\nb = c\n");
	(void)koda_make_link(*state, "link", "config");
	(void)koda_make_dir(*state, "dir");
	KODA_ASSERT_OK(koda_git_config_read(koda_in(*state, "link"), see, &out, NULL, NULL, &err),
		       err);
	KODA_ASSERT_OK(koda_git_config_read(koda_in(*state, "dir"), see, &out, NULL, NULL, &err),
		       err);
	KODA_ASSERT_OK(koda_git_config_read(koda_in(*state, "none"), see, &out, NULL, NULL, &err),
		       err);
	assert_int_equal(out.len, 0);
	KODA_ASSERT_OK(koda_git_config_read(koda_in(*state, "config"), see, &out, NULL, NULL, &err),
		       err);
	assert_string_equal(out.ptr, "a||b|c\n");
}

static void a_file_that_is_too_large_is_refused(void **state)
{
	koda_auto_buf struct koda_buf out = KODA_BUF_INIT(4096);
	const char *file = koda_make_file(*state, "config", "[a]\nb = c\n");
	struct koda_error err = { 0 };

	assert_int_equal(truncate(file, (off_t)KODA_GIT_CONFIG_MAX), 0);
	KODA_ASSERT_OK(koda_git_config_read(file, see, &out, NULL, NULL, &err), err);
	assert_string_equal(out.ptr, "a||b|c\n");
	assert_int_equal(truncate(file, (off_t)KODA_GIT_CONFIG_MAX + 1), 0);
	assert_int_equal(koda_git_config_read(file, see, &out, NULL, NULL, &err), KODA_E_LIMIT);
	assert_non_null(strstr(err.message, "too large"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(settings_are_read),
		cmocka_unit_test(a_nul_ends_a_value_and_no_more),
		cmocka_unit_test(a_refusal_ends_the_reading),
		KODA_SCRATCH_TEST(files_are_read_but_no_links),
		KODA_SCRATCH_TEST(a_file_that_is_too_large_is_refused),
	};

	return KODA_TEST_RUN(tests);
}
