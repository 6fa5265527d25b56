/* SPDX-License-Identifier: MIT */
/* T-119. A project's profiles are as new as the project: what appears, or becomes a link, counts.
 */
#include "koda_test.h"

#include "../lib/scratch.h"
#include "run/project.h"

#include <koda/koda.h>

static struct koda_project *open_safe(const char *root)
{
	static const char *const env[] = { "PATH=/usr/bin:/bin", "HOME=/nonexistent", NULL };
	struct koda_project *project = NULL;
	struct koda_policy *policy = NULL;
	struct koda_error err = { 0 };

	KODA_ASSERT_OK(koda_project_open(root, env, &project, &err), err);
	KODA_ASSERT_OK(koda_policy_for_trust(KODA_TRUST_SAFE, root, &policy, &err), err);
	KODA_ASSERT_OK(koda_project_set_policy(project, policy, &err), err);
	koda_policy_free(policy);
	return project;
}

/* Returns whether the profile now denies writing to root/name, by a rule about that path. */
static bool closes(struct koda_project *project, const char *name)
{
	koda_auto_free char *text = NULL;
	struct koda_error err = { 0 };
	char rule[2 * PATH_MAX];

	KODA_ASSERT_OK(koda_project_seatbelt(project, NULL, &text, &err), err);
	(void)snprintf(rule, sizeof(rule), "(deny file-write* (subpath \"%s/%s\"))",
		       koda_project_root(project), name);
	return strstr(text, rule) != NULL;
}

static void protected_paths_that_appear(void **state)
{
	struct koda_project *project = open_safe(*state);

	assert_true(closes(project, ".vscode"));
	assert_true(closes(project, ".vscode"));
	assert_int_equal(project->profiles.misses, 1);
	assert_false(closes(project, "sub/.git/hooks"));
	assert_int_equal(project->profiles.misses, 1);
	koda_make_dir(*state, "sub");
	koda_make_dir(*state, "sub/.git");
	koda_make_dir(*state, "sub/.git/objects");
	koda_make_dir(*state, "sub/.git/refs");
	koda_make_file(*state, "sub/.git/HEAD", "ref: refs/heads/main\n");
	assert_true(closes(project, "sub/.git/hooks"));
	assert_int_equal(project->profiles.misses, 2);
	koda_project_close(project);
}

static void protected_paths_that_become_links(void **state)
{
	struct koda_project *project = open_safe(*state);

	koda_make_dir(*state, "conf");
	koda_make_dir(*state, ".vscode");
	assert_false(closes(project, "conf"));
	assert_int_equal(rmdir(koda_in(*state, ".vscode")), 0);
	koda_make_link(*state, ".vscode", "conf");
	assert_true(closes(project, "conf"));
	/* And back: the first profile is right again, and is still there. */
	assert_int_equal(unlink(koda_in(*state, ".vscode")), 0);
	koda_make_dir(*state, ".vscode");
	assert_false(closes(project, "conf"));
	assert_int_equal(project->profiles.misses, 2);
	koda_project_close(project);
}

static void roots_that_went_away(void **state)
{
	const char *root = koda_make_dir(*state, "root");
	struct koda_project *project = open_safe(root);
	struct koda_error err = { 0 };
	char *text = NULL;

	assert_false(closes(project, "conf"));
	assert_int_equal(rmdir(koda_in(*state, "root")), 0);
	assert_int_equal(koda_project_seatbelt(project, NULL, &text, &err), KODA_E_SYS);
	assert_null(text);
	koda_project_close(project);
}

static void projects_without_a_policy(void **state)
{
	static const char *const env[] = { "HOME=/nonexistent", NULL };
	struct koda_project *project = NULL;
	struct koda_error err = { 0 };
	char *text = NULL;

	KODA_ASSERT_OK(koda_project_open(*state, env, &project, &err), err);
	assert_int_equal(koda_project_seatbelt(project, NULL, &text, &err), KODA_E_INVALID);
	assert_null(text);
	koda_project_close(project);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		KODA_SCRATCH_TEST(protected_paths_that_appear),
		KODA_SCRATCH_TEST(protected_paths_that_become_links),
		KODA_SCRATCH_TEST(roots_that_went_away),
		KODA_SCRATCH_TEST(projects_without_a_policy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
