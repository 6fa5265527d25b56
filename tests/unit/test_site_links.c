/* SPDX-License-Identifier: MIT */
/* T-06: what symbolic links in a policy's paths may open, and what not. */
#include "koda_test.h"

#include "../lib/scratch.h"
#include "base/buf.h"
#include "run/project/policy_links.h"
#include "run/project/site.h"

#include <koda/policy.h>

#define HIDE  KODA_LIST_DENY_READ
#define HOLE  KODA_LIST_ALLOW_READ_WITHIN_DENY
#define WRITE KODA_LIST_ALLOW_WRITE
#define KEEP  KODA_LIST_DENY_WRITE_WITHIN_ALLOW

struct rule {
	enum koda_list list;
	const char *path; /* below the scratch directory; NULL: no more */
};

/* T-06. The command may write below project; everything beside it is out of its reach:
 *   outer-secret -> secret             project/secret -> secret
 *   outer -> data                      outer-chain -> project/secret
 *   outer-project -> project           outer-middle -> data/middle -> secret
 */
static const struct {
	const char *name;
	struct rule rules[3];
	struct rule leads;
	bool followed;
} follows[] = {
	{ "deny read, link outside", { { HIDE, "outer-secret" } }, { HIDE, "secret" }, true },
	{ "deny read, link inside",
	  { { WRITE, "project" }, { HIDE, "project/secret" } },
	  { HIDE, "secret" },
	  true },
	{ "deny read, a chain through the inside",
	  { { WRITE, "project" }, { HIDE, "outer-chain/x" } },
	  { HIDE, "secret/x" },
	  true },
	{ "deny write, link inside",
	  { { WRITE, "project" }, { KEEP, "project/secret/x" } },
	  { KEEP, "secret/x" },
	  true },
	{ "write, link outside", { { WRITE, "outer/x" } }, { WRITE, "data/x" }, true },
	{ "write, link inside",
	  { { WRITE, "project" }, { WRITE, "project/secret/x" } },
	  { WRITE, "secret/x" },
	  false },
	{ "write, a chain outside", { { WRITE, "outer-middle/x" } }, { WRITE, "secret/x" }, true },
	{ "write, a chain through the inside",
	  { { WRITE, "project" }, { WRITE, "outer-chain/x" } },
	  { WRITE, "secret/x" },
	  false },
	{ "write, link inside, spelt through a link outside",
	  { { WRITE, "project" }, { WRITE, "outer-project/secret/x" } },
	  { WRITE, "secret/x" },
	  false },
	{ "write, the inside spelt through a link, after",
	  { { WRITE, "project/sub/secret/x" }, { WRITE, "outer-project/sub" } },
	  { WRITE, "secret/x" },
	  false },
	{ "hole, link outside",
	  { { WRITE, "project" }, { HOLE, "outer/x" } },
	  { HOLE, "data/x" },
	  true },
	{ "hole, link outside, no place to write", { { HOLE, "outer" } }, { HOLE, "data" }, true },
	{ "hole, link inside",
	  { { WRITE, "project" }, { HOLE, "project/secret" } },
	  { HOLE, "secret" },
	  false },
	{ "hole, a chain outside",
	  { { WRITE, "project" }, { HOLE, "outer-middle" } },
	  { HOLE, "secret" },
	  true },
	{ "hole, a chain through the inside",
	  { { WRITE, "project" }, { HOLE, "outer-chain" } },
	  { HOLE, "secret" },
	  false },
	{ "hole, link inside, spelt through a link outside",
	  { { WRITE, "project" }, { HOLE, "outer-project/secret" } },
	  { HOLE, "secret" },
	  false },
	{ "hole, the inside spelt through a link",
	  { { WRITE, "outer-project/sub" }, { HOLE, "project/sub/secret" } },
	  { HOLE, "secret" },
	  false },
	{ "hole, the inside is another spelling's neighbour",
	  { { WRITE, "outer-project/other" }, { HOLE, "project/sub/secret" } },
	  { HOLE, "secret" },
	  true },
};

/* A project elsewhere, so that only what the policy itself allows counts as writable. */
static char elsewhere[] = "/no/such/project";
static const struct koda_site site = { .root = elsewhere };

static void make_links(const char *dir)
{
	(void)koda_make_dir(dir, "secret");
	(void)koda_make_dir(dir, "data");
	(void)koda_make_dir(dir, "project");
	(void)koda_make_dir(dir, "project/sub");
	(void)koda_make_link(dir, "data/middle", "../secret");
	(void)koda_make_link(dir, "project/secret", "../secret");
	(void)koda_make_link(dir, "project/sub/secret", koda_in(dir, "secret"));
	(void)koda_make_link(dir, "outer", "data");
	(void)koda_make_link(dir, "outer-secret", "secret");
	(void)koda_make_link(dir, "outer-project", "project");
	(void)koda_make_link(dir, "outer-chain", "project/secret");
	(void)koda_make_link(dir, "outer-middle", "data/middle");
}

static void add_path(struct koda_policy *policy, enum koda_list list, const char *path)
{
	struct koda_error err = { 0 };

	KODA_ASSERT_OK(koda_policy_add(policy, list, path, strlen(path), &err), err);
}

static bool lists(const struct koda_policy *policy, enum koda_list list, const char *path)
{
	for (size_t i = 0; i < koda_policy_count(policy, list); i++)
		if (koda_span_is(koda_policy_get(policy, list, i), path))
			return true;
	return false;
}

static void links_in_rules_are_followed_unless_the_command_can_plant_them(void **state)
{
	make_links(*state);
	KODA_EACH(row, follows) {
		struct koda_policy *policy = NULL;
		struct koda_error err = { 0 };

		KODA_ASSERT_OK(koda_policy_new(&policy, &err), err);
		for (size_t i = 0; i < 3 && row->rules[i].path; i++)
			add_path(policy, row->rules[i].list, koda_in(*state, row->rules[i].path));
		KODA_ASSERT_OK(koda_policy_links_resolve_now(&site, policy, &err), err);
		KODA_EXPECT(row->name, lists(policy, row->leads.list,
					     koda_in(*state, row->leads.path)) == row->followed);
		/* A deny stays as it was written; an allow becomes what it leads to. */
		for (size_t i = 0; i < 3 && row->rules[i].path; i++)
			if (row->rules[i].list == HIDE || row->rules[i].list == KEEP)
				KODA_EXPECT(row->name, lists(policy, row->rules[i].list,
							     koda_in(*state, row->rules[i].path)));
		koda_policy_free(policy);
	}
}

static void a_policy_without_links_does_not_change(void **state)
{
	struct koda_policy *policy = NULL;
	struct koda_policy *before = NULL;
	struct koda_error err = { 0 };

	make_links(*state);
	KODA_ASSERT_OK(koda_policy_new(&policy, &err), err);
	for (int list = HIDE; list <= KEEP; list++) {
		add_path(policy, (enum koda_list)list, koda_in(*state, "data"));
		add_path(policy, (enum koda_list)list, koda_in(*state, "no/such/path"));
	}
	KODA_ASSERT_OK(koda_policy_copy(policy, &before, &err), err);
	KODA_ASSERT_OK(koda_policy_links_resolve_now(&site, policy, &err), err);
	assert_true(koda_policy_equal(policy, before));
	koda_policy_free(policy);
	koda_policy_free(before);
}

static void a_rule_that_loops_is_an_error(void **state)
{
	(void)koda_make_link(*state, "loop", "loop");
	for (int list = HIDE; list <= KEEP; list++) {
		struct koda_policy *policy = NULL;
		struct koda_error err = { 0 };

		KODA_ASSERT_OK(koda_policy_new(&policy, &err), err);
		add_path(policy, (enum koda_list)list, koda_in(*state, "loop"));
		KODA_ASSERT_FAILS(KODA_E_SYS, koda_policy_links_resolve_now(&site, policy, &err),
				  err);
		assert_int_equal(err.sys_errno, ELOOP);
		koda_policy_free(policy);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		KODA_SCRATCH_TEST(links_in_rules_are_followed_unless_the_command_can_plant_them),
		KODA_SCRATCH_TEST(a_policy_without_links_does_not_change),
		KODA_SCRATCH_TEST(a_rule_that_loops_is_an_error),
	};

	return KODA_TEST_RUN(tests);
}
