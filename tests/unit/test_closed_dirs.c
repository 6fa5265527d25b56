/* SPDX-License-Identifier: MIT */
/* T-30. Directories that are opened and closed while they are looked at. */
#include "koda_test.h"

#include "base/set.h"
#include "plan/closed_dirs.h"
#include "plan/plan.h"
#include "plan/request.h"
#include "plan/view.h"
#include "policy/policy.h"

#define ROOT "/home/u/p"

static void add(struct koda_set *set, const char *path)
{
	assert_int_equal(koda_set_add(set, koda_span_of(path), NULL), KODA_OK);
}

static void nothing_is_mounted_below(void **state)
{
	static const struct {
		const char *mounted;
		int code;
	} cases[] = { { "/", KODA_OK },          { "/a", KODA_OK },      { "/a/b", KODA_OK },
		      { "/a/bc", KODA_OK },      { "/a/bc/d", KODA_OK }, { "/a/b/c", KODA_E_SYS },
		      { "/a/b/c/d", KODA_E_SYS } };

	(void)state;
	KODA_EACH(c, cases) {
		koda_auto_set struct koda_set shut = KODA_SET_INIT(1024);
		koda_auto_set struct koda_set mounted = KODA_SET_INIT(1024);
		struct koda_error err = { 0 };

		add(&mounted, "/x");
		add(&mounted, c->mounted);
		KODA_ASSERT_OK(koda_plan_check_closed_dirs(&shut, &mounted, &err), err);
		add(&shut, "/y");
		add(&shut, "/a/b");
		assert_int_equal(koda_plan_check_closed_dirs(&shut, &mounted, &err), c->code);
	}
}

/* Everything is there, but names that begin so cannot be looked at. */
struct given {
	const char *closed;
	bool link; /* .git is one */
};

static int look(void *ctx, const char *path, struct koda_fs_stat *ret_look, struct koda_error *err)
{
	const struct given *given = ctx;

	(void)err;
	*ret_look = (struct koda_fs_stat){ .type = KODA_FILE_DIR, .ino = strlen(path) };
	if (given->link && strcmp(path, ROOT "/.git") == 0)
		ret_look->type = KODA_FILE_LINK;
	if (strncmp(path, given->closed, strlen(given->closed)) == 0)
		*ret_look = (struct koda_fs_stat){ .type = KODA_FILE_MISSING, .closed = true };
	return KODA_OK;
}

/* Is .git mounted as this in the end? */
static bool ends_as(const struct koda_plan *plan, enum koda_op_kind kind)
{
	bool found = false;

	for (size_t i = 0; i < plan->count; i++)
		if (koda_span_is(plan->lines[i].op.text1, ROOT "/.git"))
			found = plan->lines[i].op.kind == kind;
	return found;
}

static int plan_with(struct given given, enum koda_op_kind kind)
{
	static const char *const names[] = { ROOT "/.git/config", ROOT "/.git/hooks" };
	const struct koda_fs_ops fs = { look, &given };
	const struct koda_place place = { .size = sizeof(place), .root = ROOT, .home = "/home/u" };
	const struct koda_place nowhere = { .size = sizeof(nowhere), .home = NULL };
	koda_auto_plan struct koda_plan plan = KODA_PLAN_INIT;
	koda_auto_policy struct koda_policy *policy = NULL;
	struct koda_plan_request request = { .place = &place, .fs = &fs };
	struct koda_rules *rules = NULL;
	struct koda_error err = { 0 };
	int r;

	KODA_ASSERT_OK(koda_policy_new(&policy, &err), err);
	KODA_ASSERT_OK(koda_policy_add(policy, KODA_LIST_ALLOW_WRITE, ROOT, strlen(ROOT), &err),
		       err);
	KODA_EACH(name, names)
		KODA_ASSERT_OK(koda_policy_add(policy, KODA_LIST_DENY_WRITE_WITHIN_ALLOW, *name,
					       strlen(*name), &err),
			       err);
	KODA_ASSERT_OK(koda_rules_new(policy, &nowhere, &rules, &err), err);
	request.policy = policy;
	request.rules = rules;
	r = koda_plan_view(&plan, &request, &err);
	koda_rules_free(rules);
	assert_true(r < 0 || ends_as(&plan, kind));
	return r;
}

/* Whichever of the two was seen. */
static void a_view_is_not_made_of_both(void **state)
{
	const struct given config = { .closed = ROOT "/.git/config" };
	const struct given hooks = { .closed = ROOT "/.git/hooks" };
	const struct given both = { .closed = ROOT "/.git/" };
	const struct given none = { .closed = ROOT "/other" };

	(void)state;
	assert_int_equal(plan_with(config, KODA_OP_READONLY), KODA_E_SYS);
	assert_int_equal(plan_with(hooks, KODA_OP_READONLY), KODA_E_SYS);
	assert_int_equal(plan_with(both, KODA_OP_READONLY), KODA_OK);
	assert_int_equal(plan_with(none, KODA_OP_WRITABLE), KODA_OK);
}

/* The link stays where it is. */
static void a_link_to_a_closed_directory_is_pinned(void **state)
{
	const struct given given = { .closed = ROOT "/.git/", .link = true };

	(void)state;
	assert_int_equal(plan_with(given, KODA_OP_PIN), KODA_OK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_mounted_below),
		cmocka_unit_test(a_view_is_not_made_of_both),
		cmocka_unit_test(a_link_to_a_closed_directory_is_pinned),
	};

	return KODA_TEST_RUN(tests);
}
