/* SPDX-License-Identifier: MIT */
/* T-11 renaming and removing: nothing protected goes with the directory above it. And what is
 * opened besides the project: its own git directory, where the policy opens the project. */
#include "koda_test.h"

#include "policy/policy.h"

#include <koda/rules.h>

static const char *const git_dirs[] = { "/main/.git", "/main/.git/worktrees/w", NULL };
static const char *const git_open[] = { "/main/.git", NULL };
static const struct koda_place place = { .size = sizeof(place),
					 .root = "/p",
					 .home = "/home/u",
					 .git_dirs = git_dirs,
					 .own_git_dirs = git_open };

static struct koda_rules *rules_of(const char *json)
{
	struct koda_policy *policy = NULL;
	struct koda_rules *rules = NULL;
	struct koda_error err = { 0 };

	KODA_ASSERT_OK(koda_policy_parse(json, strlen(json), &policy, &err), err);
	KODA_ASSERT_OK(koda_rules_new(policy, &place, &rules, &err), err);
	koda_policy_free(policy);
	return rules;
}

static bool may_replace(const struct koda_rules *rules, const char *path)
{
	return koda_rules_replace(rules, path, strlen(path)).answer == KODA_ALLOW;
}

static bool may_write(const struct koda_rules *rules, const char *path)
{
	return koda_rules_write(rules, path, strlen(path)).answer == KODA_ALLOW;
}

static void what_holds_something_protected_stays(void **state)
{
	static const struct {
		const char *path;
		bool allowed;
	} rows[] = {
		{ "/p/file", true },
		{ "/p/src", true },
		{ "/p/src/", true },
		{ "/p/./src//x", true },
		{ "/p/.git/index", true },
		{ "/p/.git/refs", true },
		{ "/p/.koda/notes", true },
		{ "/p/deep", false }, /* /p/deep/er/closed */
		{ "/p/deep/", false },
		{ "/p//deep/.", false },
		{ "/p/deep/er", false },
		{ "/p/deep/er/closed", false },
		{ "/p/deep/er/closed/x", false },
		{ "/p/deep/er/open", true },
		{ "/p/secret", false },
		{ "/p/has", false }, /* /p/has/secret is hidden */
		{ "/p/again", true },
		{ "/p/.git", false },
		{ "/p/.git/info", false },
		{ "/p/.git/hooks", false },
		{ "/p/.claude", false },
		{ "/p", false }, /* the directory it is in is not writable */
		{ "/", false },
		{ "/elsewhere", false },
		{ "/p/../p/file", false },
		{ "p/file", false },
		{ "", false },
	};
	struct koda_rules *rules =
		rules_of("{\"fs\":{\"allow_write\":[\"/p\",\"/p/again/and/again\"],"
			 "\"deny_write_within_allow\":[\"/p/deep/er/closed\"],"
			 "\"deny_read\":[\"/p/secret\",\"/p/has/secret\"]}}");

	(void)state;
	KODA_EACH(row, rows)
		KODA_EXPECT(row->path, may_replace(rules, row->path) == row->allowed);
	koda_rules_free(rules);
}

static void the_reason_is_what_lies_below(void **state)
{
	struct koda_rules *rules = rules_of("{\"fs\":{\"allow_write\":[\"/p\"],"
					    "\"deny_write_within_allow\":[\"/p/a/b\"]}}");
	struct koda_verdict v = koda_rules_replace(rules, "/p/a", 4);

	(void)state;
	assert_int_equal(v.reason, KODA_REASON_DENY_WRITE);
	KODA_ASSERT_SPAN(v.rule, "/p/a/b");
	v = koda_rules_replace(rules, "/p/c", 4);
	assert_int_equal(v.reason, KODA_REASON_ALLOW_WRITE);
	koda_rules_free(rules);
}

static void the_git_directory_is_as_open_as_the_project(void **state)
{
	static const struct {
		const char *policy;
		const char *path;
		bool allowed;
	} rows[] = {
		{ "{\"fs\":{\"allow_write\":[\"/p\"]}}", "/main/.git/index", true },
		{ "{\"fs\":{\"allow_write\":[\"/p\"]}}", "/main/.git/worktrees/w/HEAD", true },
		{ "{\"fs\":{\"allow_write\":[\"/p\"]}}", "/main/.git", true },
		{ "{\"fs\":{\"allow_write\":[\"/p\"]}}", "/main/.git/hooks/x", false },
		{ "{\"fs\":{\"allow_write\":[\"/p\"]}}", "/main/.git/config", false },
		{ "{\"fs\":{\"allow_write\":[\"/p\"]}}", "/main/.git/modules/x", false },
		{ "{\"fs\":{\"allow_write\":[\"/p\"]}}", "/main/.git/worktrees/w/gitdir", false },
		{ "{\"fs\":{\"allow_write\":[\"/p\"]}}", "/main/file", false },
		{ "{\"fs\":{\"allow_write\":[\"/p/src\"]}}", "/main/.git/index", false },
		{ "{\"fs\":{\"allow_write\":[]}}", "/main/.git/index", false },
		{ "{}", "/main/.git/index", false },
		{ "{\"fs\":{\"allow_write\":[\"/p\"],\"deny_write_within_allow\":[\"/p\"]}}",
		  "/main/.git/index", false },
		{ "{\"fs\":{\"allow_write\":[\"/p\"],\"deny_write_within_allow\":[\"/main\"]}}",
		  "/main/.git/index", false },
		{ "{\"fs\":{\"allow_write\":[\"/p\"],\"deny_read\":[\"/main/.git/objects\"]}}",
		  "/main/.git/objects/x", false },
		{ "{\"fs\":{\"allow_write\":[\"/p\"],\"allow_git_config\":true}}",
		  "/main/.git/config", true },
		{ "{\"fs\":{\"allow_write\":[\"/p\"],\"allow_git_config\":true}}",
		  "/main/.git/hooks/x", false },
	};

	(void)state;
	KODA_EACH(row, rows) {
		struct koda_rules *rules = rules_of(row->policy);

		KODA_EXPECT(row->path, may_write(rules, row->path) == row->allowed);
		koda_rules_free(rules);
	}
}

static void the_reason_for_that_has_a_name(void **state)
{
	struct koda_rules *rules = rules_of("{\"fs\":{\"allow_write\":[\"/p\"]}}");
	struct koda_verdict v = koda_rules_write(rules, "/main/.git/index", 16);

	(void)state;
	assert_int_equal(v.reason, KODA_REASON_GIT_DIR);
	KODA_ASSERT_SPAN(v.rule, "/main/.git");
	assert_string_equal(koda_reason_name(v.reason), "project.git_dir");
	koda_rules_free(rules);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_holds_something_protected_stays),
		cmocka_unit_test(the_reason_is_what_lies_below),
		cmocka_unit_test(the_git_directory_is_as_open_as_the_project),
		cmocka_unit_test(the_reason_for_that_has_a_name),
	};

	return KODA_TEST_RUN(tests);
}
