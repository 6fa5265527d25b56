/* SPDX-License-Identifier: MIT */
/* T-12 the floor holds for what its names lead to, not only for the names. */
#include "koda_test.h"

#include "../lib/scratch.h"
#include "policy/policy.h"
#include "run/project/site.h"
#include "run/project/symlinks.h"

static bool may(const struct koda_rules *rules, bool write, const char *path)
{
	struct koda_verdict v = write ? koda_rules_write(rules, path, strlen(path))
				      : koda_rules_read(rules, path, strlen(path));

	return v.answer == KODA_ALLOW;
}

/* Rules that allow writing everywhere, for a home and a project below the scratch directory. */
static struct koda_rules *rules_for(const char *dir)
{
	koda_auto_site struct koda_site site = KODA_SITE_INIT;
	koda_auto_buf struct koda_buf home = KODA_BUF_INIT(8192);
	struct koda_policy *policy = NULL;
	struct koda_rules *rules = NULL;
	struct koda_error err = { 0 };
	const char *env[] = { NULL, "PATH=/no/such/bin", NULL };
	struct koda_place place = { .size = sizeof(place) };

	assert_int_equal(koda_buf_addf(&home, "HOME=%s/home", dir), KODA_OK);
	env[0] = home.ptr;
	KODA_ASSERT_OK(koda_site_load(&site, koda_in(dir, "project"), env, &err), err);
	KODA_ASSERT_OK(koda_symlinks_note(&site, &err), err);
	KODA_ASSERT_OK(koda_policy_new(&policy, &err), err);
	KODA_ASSERT_OK(koda_policy_add(policy, KODA_LIST_ALLOW_WRITE, "/", 1, &err), err);
	place = koda_site_place(&site);
	KODA_ASSERT_OK(koda_rules_new(policy, &place, &rules, &err), err);
	koda_policy_free(policy);
	return rules;
}

static void what_a_protected_link_leads_to_is_protected(void **state)
{
	static const char *const closed[] = { "project/dot/ssh/authorized_keys",
					      "project/code/tasks.json", "project/hk/pre-commit",
					      "home/.ssh" };
	static const char *const open_[] = { "project/dot/vimrc", "project/codex", "project/hkx" };
	struct koda_rules *rules;

	(void)koda_make_dir(*state, "home");
	(void)koda_make_dir(*state, "project");
	(void)koda_make_dir(*state, "project/dot");
	(void)koda_make_dir(*state, "project/dot/ssh");
	(void)koda_make_dir(*state, "project/.git");
	(void)koda_make_link(*state, "home/.ssh", koda_in(*state, "project/dot/ssh"));
	(void)koda_make_link(*state, "project/.vscode", "code");
	(void)koda_make_link(*state, "project/.git/hooks", "../hk");
	rules = rules_for(*state);
	KODA_EACH(path, closed)
		KODA_EXPECT(*path, !may(rules, true, koda_in(*state, *path)));
	KODA_EACH(path, open_)
		KODA_EXPECT(*path, may(rules, true, koda_in(*state, *path)));
	koda_rules_free(rules);
}

static void hidden_state_is_hidden_under_its_real_name(void **state)
{
	struct koda_rules *rules;

	(void)koda_make_dir(*state, "home");
	(void)koda_make_dir(*state, "project");
	(void)koda_make_dir(*state, "cfg");
	(void)koda_make_link(*state, "home/.config", koda_in(*state, "cfg"));
	rules = rules_for(*state);
	assert_false(may(rules, false, koda_in(*state, "cfg/koda/db/key")));
	assert_false(may(rules, true, koda_in(*state, "cfg/gh/hosts.yml")));
	assert_true(may(rules, false, koda_in(*state, "cfg/koda/theme")));
	koda_rules_free(rules);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_a_protected_link_leads_to_is_protected,
						koda_scratch_setup, koda_scratch_teardown),
		cmocka_unit_test_setup_teardown(hidden_state_is_hidden_under_its_real_name,
						koda_scratch_setup, koda_scratch_teardown),
	};

	return KODA_TEST_RUN(tests);
}
