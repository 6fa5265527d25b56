/* SPDX-License-Identifier: MIT */
/* A project as hosts use it: its policy is resolved, only ever narrowed, and moves into a sandbox.
 */
#include "koda_test.h"

#include "../lib/scratch.h"

#include <koda/koda.h>

static const char *const env[] = { "PATH=/usr/bin:/bin", "HOME=/nonexistent", NULL };

static struct koda_project *open_one(const char *root)
{
	struct koda_project *project = NULL;
	struct koda_error err = { 0 };

	KODA_ASSERT_OK(koda_project_open(root, env, &project, &err), err);
	assert_string_equal(koda_project_root(project), root);
	return project;
}

/* Gives it the policy of trust mode safe. */
static struct koda_project *open_safe(const char *root)
{
	struct koda_project *project = open_one(root);
	struct koda_policy *policy = NULL;
	struct koda_error err = { 0 };

	KODA_ASSERT_OK(koda_policy_for_trust(KODA_TRUST_SAFE, root, &policy, &err), err);
	assert_null(koda_project_policy(project));
	KODA_ASSERT_OK(koda_project_set_policy(project, policy, &err), err);
	koda_policy_free(policy);
	return project;
}

static bool has(const struct koda_project *project, enum koda_list list, const char *entry)
{
	const struct koda_policy *policy = koda_project_policy(project);

	for (size_t i = 0; i < koda_policy_count(policy, list); i++)
		if (strcmp(koda_policy_get(policy, list, i).ptr, entry) == 0)
			return true;
	return false;
}

static void refuses_the_machine(void **state)
{
	struct koda_project *project = NULL;
	struct koda_error err = { 0 };

	(void)state;
	assert_int_equal(koda_project_open("/", env, &project, &err), KODA_E_DENIED);
	assert_null(project);
	koda_project_close(NULL);
}

static void needs_a_policy(void **state)
{
	struct koda_project *project = open_one(*state);
	struct koda_policy *child = NULL;
	struct koda_rules *rules = NULL;
	struct koda_error err = { 0 };

	KODA_ASSERT_OK(koda_policy_new(&child, &err), err);
	assert_int_equal(koda_project_narrow(project, child, &err), KODA_E_INVALID);
	assert_int_equal(koda_project_deny(project, KODA_LIST_DENY_READ, "/etc", &err),
			 KODA_E_INVALID);
	assert_int_equal(koda_project_hide_credentials(project, &err), KODA_E_INVALID);
	assert_int_equal(koda_project_rules(project, &rules, &err), KODA_E_INVALID);
	assert_null(rules);
	koda_policy_free(child);
	koda_project_close(project);
}

/* A link in the project may be a command's: what it leads to is not allowed because of it. */
static void resolves_what_it_is_given(void **state)
{
	struct koda_project *project = open_one(*state);
	struct koda_policy *policy = NULL;
	struct koda_error err = { 0 };
	char link[PATH_MAX];

	(void)snprintf(link, sizeof(link), "%s/link", (const char *)*state);
	assert_int_equal(symlink("/usr/share", link), 0);
	KODA_ASSERT_OK(koda_policy_new(&policy, &err), err);
	KODA_ASSERT_OK(koda_policy_add(policy, KODA_LIST_ALLOW_WRITE, link, strlen(link), &err),
		       err);
	KODA_ASSERT_OK(koda_policy_add(policy, KODA_LIST_DENY_READ, link, strlen(link), &err), err);
	KODA_ASSERT_OK(koda_project_set_policy(project, policy, &err), err);
	assert_false(has(project, KODA_LIST_ALLOW_WRITE, link));
	assert_false(has(project, KODA_LIST_ALLOW_WRITE, "/usr/share"));
	assert_true(has(project, KODA_LIST_DENY_READ, link));
	assert_true(has(project, KODA_LIST_DENY_READ, "/usr/share"));
	/* The caller's is as it was. */
	assert_int_equal(koda_policy_count(policy, KODA_LIST_ALLOW_WRITE), 1);
	koda_policy_free(policy);
	koda_project_close(project);
}

/* "link/../x" is x beside the link as it is spelt, and x beside its target to the kernel. */
static void denies_both_meanings(void **state)
{
	struct koda_project *project = open_safe(*state);
	struct koda_error err = { 0 };
	char spelt[PATH_MAX];
	char link[PATH_MAX];
	char path[PATH_MAX + 8];

	(void)snprintf(link, sizeof(link), "%s/link", (const char *)*state);
	(void)snprintf(spelt, sizeof(spelt), "%s/lib", (const char *)*state);
	(void)snprintf(path, sizeof(path), "%s/../lib", link);
	assert_int_equal(symlink("/usr/share", link), 0);
	KODA_ASSERT_OK(koda_project_deny(project, KODA_LIST_DENY_READ, path, &err), err);
	assert_true(has(project, KODA_LIST_DENY_READ, spelt));
	assert_true(has(project, KODA_LIST_DENY_READ, "/usr/lib"));
	KODA_ASSERT_OK(koda_project_deny(project, KODA_LIST_DENIED_DOMAINS, "Example.COM", &err),
		       err);
	assert_true(has(project, KODA_LIST_DENIED_DOMAINS, "example.com"));
	koda_project_close(project);
}

static void never_widens(void **state)
{
	static const enum koda_list lists[] = { KODA_LIST_ALLOW_READ_WITHIN_DENY,
						KODA_LIST_ALLOW_WRITE, KODA_LIST_ALLOWED_DOMAINS,
						KODA_LIST_COUNT };
	struct koda_project *project = open_safe(*state);
	struct koda_error err = { 0 };

	KODA_EACH(list, lists)
		assert_int_equal(koda_project_deny(project, *list, "/srv", &err), KODA_E_INVALID);
	assert_int_equal(koda_project_deny(project, KODA_LIST_DENY_READ, "", &err), KODA_E_INVALID);
	assert_int_equal(koda_project_deny(project, KODA_LIST_DENIED_DOMAINS, "a b", &err),
			 KODA_E_POLICY);
	koda_project_close(project);
}

static void narrows(void **state)
{
	static const char text[] = "{\"fs\": {\"allow_write\": []}, \"net\": {\"denied_domains\": "
				   "[\"*\"]}, \"limits\": {\"wall_time_secs\": 5}}";
	struct koda_project *project = open_safe(*state);
	struct koda_policy *child = NULL;
	struct koda_error err = { 0 };
	uint64_t seconds = 0;

	assert_int_equal(koda_policy_count(koda_project_policy(project), KODA_LIST_ALLOW_WRITE), 1);
	KODA_ASSERT_OK(koda_policy_parse(text, sizeof(text) - 1, &child, &err), err);
	KODA_ASSERT_OK(koda_project_narrow(project, child, &err), err);
	assert_int_equal(koda_policy_count(koda_project_policy(project), KODA_LIST_ALLOW_WRITE), 0);
	assert_false(koda_policy_has_network(koda_project_policy(project)));
	assert_true(
		koda_policy_limit(koda_project_policy(project), KODA_LIMIT_WALL_TIME, &seconds));
	assert_int_equal(seconds, 5);
	assert_int_equal(koda_policy_stated_search_depth(koda_project_policy(project)), 5);
	assert_int_equal(koda_policy_search_depth(koda_project_policy(project)),
			 KODA_SEARCH_DEPTH_MIN);
	koda_policy_free(child);
	koda_project_close(project);
}

static void hides_credentials(void **state)
{
	struct koda_project *project = open_safe(*state);
	struct koda_error err = { 0 };

	assert_false(has(project, KODA_LIST_DENY_READ, "/nonexistent/.ssh"));
	KODA_ASSERT_OK(koda_project_hide_credentials(project, &err), err);
	assert_true(has(project, KODA_LIST_DENY_READ, "/nonexistent/.ssh"));
	koda_project_close(project);
}

/* The place alone does not know of a link to a protected file; the project's rules do. */
static void rules_know_further_names(void **state)
{
	struct koda_project *project = open_safe(*state);
	struct koda_rules *rules = NULL;
	struct koda_error err = { 0 };
	char path[PATH_MAX];
	char *absolute = NULL;
	char *resolved = NULL;

	(void)snprintf(path, sizeof(path), "%s/.envrc", (const char *)*state);
	assert_int_equal(symlink("settings", path), 0);
	KODA_ASSERT_OK(koda_project_locate(project, path, &absolute, &resolved, &err), err);
	assert_string_equal(absolute, path);
	assert_string_not_equal(resolved, path);
	KODA_ASSERT_OK(koda_project_rules(project, &rules, &err), err);
	assert_int_equal(koda_rules_write(rules, absolute, strlen(absolute)).answer, KODA_DENY);
	assert_int_equal(koda_rules_write(rules, resolved, strlen(resolved)).answer, KODA_DENY);
	koda_rules_free(rules);
	free(absolute);
	free(resolved);
	koda_project_close(project);
}

static struct koda_sandbox_options options_for(struct koda_project *project)
{
	return (struct koda_sandbox_options){ .size = sizeof(struct koda_sandbox_options),
					      .trust = KODA_TRUST_SAFE,
					      .project = project };
}

static size_t lines_about_floor(struct koda_sandbox *sandbox)
{
	const char *const argv[] = { "true", NULL };
	struct koda_command_options command = { .size = sizeof(command), .argv = argv };
	struct koda_error err = { 0 };
	char *text = NULL;
	size_t count = 0;

	KODA_ASSERT_OK(koda_sandbox_plan(sandbox, &command, &text, &err), err);
	for (const char *at = text; (at = strstr(at, "# floor.")); at++)
		count++;
	free(text);
	return count;
}

/* The first plan uses the survey of koda_sandbox_open, the second looks again: both with the
 * environment of the project. */
static void every_plan_has_its_environment(void **state)
{
	struct koda_project *project = open_safe(*state);
	struct koda_sandbox_options options = options_for(project);
	struct koda_sandbox *sandbox = NULL;
	struct koda_error err = { 0 };
	size_t first;

	KODA_ASSERT_OK(koda_sandbox_open(&options, &sandbox, &err), err);
	first = lines_about_floor(sandbox);
	assert_true(first > 0);
	assert_int_equal(lines_about_floor(sandbox), first);
	koda_sandbox_close(sandbox);
	koda_project_close(project);
}

static void stays_usable(void **state)
{
	struct koda_project *project = open_safe(*state);
	struct koda_sandbox_options options = options_for(project);
	struct koda_sandbox *sandbox = NULL;
	struct koda_rules *rules = NULL;
	struct koda_error err = { 0 };
	struct koda_place place = { .size = sizeof(place) };

	KODA_ASSERT_OK(koda_project_deny(project, KODA_LIST_DENIED_DOMAINS, "*", &err), err);
	/* A refused open takes nothing. */
	options.trust = KODA_TRUST_AUTO;
	options.no_sandbox = true;
	assert_int_equal(koda_sandbox_open(&options, &sandbox, &err), KODA_E_DENIED);
	options = options_for(project);
	for (int i = 0; i < 2; i++) {
		KODA_ASSERT_OK(koda_sandbox_open(&options, &sandbox, &err), err);
		assert_false(koda_policy_has_network(koda_sandbox_policy(sandbox)));
		assert_string_equal(koda_project_root(project), *state);
		koda_sandbox_close(sandbox);
	}
	KODA_ASSERT_OK(koda_project_place(project, &place, &err), err);
	assert_string_equal(place.root, *state);
	KODA_ASSERT_OK(koda_project_rules(project, &rules, &err), err);
	assert_int_equal(koda_rules_write(rules, koda_in(*state, ".git/hooks/x"),
					  strlen(koda_in(*state, ".git/hooks/x")))
				 .answer,
			 KODA_DENY);
	koda_rules_free(rules);
	koda_project_close(project);
}

static void excludes_what_a_project_has(void **state)
{
	struct koda_project *project = open_one(*state);
	struct koda_sandbox_options options = options_for(project);
	struct koda_sandbox *sandbox = NULL;
	struct koda_policy *policy = NULL;
	struct koda_error err = { 0 };

	KODA_ASSERT_OK(koda_policy_new(&policy, &err), err);
	options.root = *state;
	assert_int_equal(koda_sandbox_open(&options, &sandbox, &err), KODA_E_INVALID);
	options.root = NULL;
	options.policy = policy;
	assert_int_equal(koda_sandbox_open(&options, &sandbox, &err), KODA_E_INVALID);
	options.policy = NULL;
	options.host_env = env;
	assert_int_equal(koda_sandbox_open(&options, &sandbox, &err), KODA_E_INVALID);
	options.host_env = NULL;
	/* Without a policy of its own: that of the trust mode. */
	KODA_ASSERT_OK(koda_sandbox_open(&options, &sandbox, &err), err);
	assert_int_equal(koda_policy_count(koda_sandbox_policy(sandbox), KODA_LIST_ALLOW_WRITE), 1);
	koda_sandbox_close(sandbox);
	koda_policy_free(policy);
	koda_project_close(project);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, koda_scratch_setup, koda_scratch_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(refuses_the_machine),
		TEST(needs_a_policy),
		TEST(denies_both_meanings),
		TEST(resolves_what_it_is_given),
		TEST(never_widens),
		TEST(narrows),
		TEST(hides_credentials),
		TEST(rules_know_further_names),
		TEST(every_plan_has_its_environment),
		TEST(stays_usable),
		TEST(excludes_what_a_project_has),
	};

	return KODA_TEST_RUN(tests);
}
