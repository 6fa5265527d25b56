/* SPDX-License-Identifier: MIT */
/* T-42. Which files have another name that has to be looked for. */
#include "koda_test.h"

#include "../lib/child.h"
#include "../lib/scratch.h"
#include "run/project/hardlink.h"
#include "run/project/site.h"

#include <koda/policy.h>

static bool is_shared(const char *dir, const char *name)
{
	struct stat st;

	assert_int_equal(lstat(koda_in(dir, name), &st), 0);
	return koda_hardlink_is_shared(AT_FDCWD, koda_in(dir, name), &st);
}

static void a_second_name_is_one(void **state)
{
	const char *file = koda_make_file(*state, "config", "");

	assert_false(is_shared(*state, "config"));
	assert_int_equal(mkdir(koda_in(*state, "hooks"), 0755), 0);
	assert_false(is_shared(*state, "hooks"));
	assert_int_equal(link(file, koda_in(*state, "hooks/pre-commit")), 0);
	assert_true(is_shared(*state, "config"));
	assert_true(is_shared(*state, "hooks"));
}

/* Runs in one project share placeholders, which have names of each other. */
static void placeholders_are_no_files(void **state)
{
	static const struct {
		const char *name;
		const char *contents;
		mode_t mode;
		bool shared;
	} files[] = {
		{ "placeholder", "", 01444, false },
		{ "read-only", "", 0444, true },
		{ "writable", "", 0644, true },
		{ "full", "x", 01444, true },
	};

	KODA_EACH(file, files) {
		const char *path = koda_make_file(*state, file->name, file->contents);
		char other[64];

		(void)snprintf(other, sizeof(other), "%s-too", file->name);
		assert_int_equal(chmod(path, file->mode), 0);
		assert_int_equal(link(path, koda_in(*state, other)), 0);
		KODA_EXPECT(file->name, is_shared(*state, file->name) == file->shared);
	}
}

static int look_at_closed(void *dir)
{
	struct stat st;
	int above;

	KODA_CHILD_CHECK(koda_child_drop_root());
	KODA_CHILD_CHECK(mkdir(koda_in(dir, "git"), 0755) == 0);
	KODA_CHILD_CHECK(mkdir(koda_in(dir, "git/hooks"), 0755) == 0);
	KODA_CHILD_CHECK(lstat(koda_in(dir, "git/hooks"), &st) == 0);
	above = open(koda_in(dir, "git"), O_PATH | O_CLOEXEC);
	KODA_CHILD_CHECK(above >= 0 && !koda_hardlink_is_shared(above, "hooks", &st));
	/* The way to it, after it was looked at: that cannot be told. */
	KODA_CHILD_CHECK(chmod(koda_in(dir, "git"), 0) == 0);
	KODA_CHILD_CHECK(koda_hardlink_is_shared(above, "hooks", &st));
	KODA_CHILD_CHECK(chmod(koda_in(dir, "git"), 0755) == 0);
	/* Twin: it is closed itself, and its user knows. */
	KODA_CHILD_CHECK(chmod(koda_in(dir, "git/hooks"), 0) == 0);
	KODA_CHILD_CHECK(lstat(koda_in(dir, "git/hooks"), &st) == 0);
	KODA_CHILD_CHECK(!koda_hardlink_is_shared(above, "hooks", &st));
	return close(above);
}

static void a_way_that_is_closed_meanwhile_hides_no_second_name(void **state)
{
	assert_int_equal(chmod(*state, 0777), 0);
	assert_int_equal(koda_child_run(look_at_closed, *state), 0);
}

/* What an earlier command of the same sandbox closed may have another name all the same. */
static int look_for_names(void *dir)
{
	struct koda_site site = { .root = dir };
	struct koda_policy *policy = NULL;
	struct koda_error err = { 0 };
	const char *secret;
	int r;

	KODA_CHILD_CHECK(koda_child_drop_root());
	KODA_CHILD_CHECK(mkdir(koda_in(dir, "shut"), 0755) == 0);
	secret = koda_make_file(dir, "shut/secret", "x");
	KODA_CHILD_CHECK(link(secret, koda_in(dir, "other")) == 0);
	KODA_CHILD_CHECK(koda_policy_new(&policy, NULL) == KODA_OK);
	KODA_CHILD_CHECK(koda_policy_add(policy, KODA_LIST_DENY_READ, secret, strlen(secret),
					 NULL) == KODA_OK);
	KODA_CHILD_CHECK(chmod(koda_in(dir, "shut"), 0) == 0);
	r = koda_hardlink_note(&site, policy, &err);
	KODA_CHILD_CHECK(chmod(koda_in(dir, "shut"), 0755) == 0);
	KODA_CHILD_CHECK(r == KODA_E_DENIED && strstr(err.message, "closed"));
	/* Twin: that is found. */
	KODA_CHILD_CHECK(koda_hardlink_note(&site, policy, NULL) == KODA_OK);
	KODA_CHILD_CHECK(koda_strv_has(&site.hidden, koda_in(dir, "other")));
	koda_strv_clear(&site.hidden);
	koda_policy_free(policy);
	return 0;
}

static void a_file_that_cannot_be_looked_at_may_have_another_name(void **state)
{
	assert_int_equal(chmod(*state, 0777), 0);
	assert_int_equal(koda_child_run(look_for_names, *state), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		KODA_SCRATCH_TEST(a_second_name_is_one),
		KODA_SCRATCH_TEST(placeholders_are_no_files),
		KODA_SCRATCH_TEST(a_file_that_cannot_be_looked_at_may_have_another_name),
		KODA_SCRATCH_TEST(a_way_that_is_closed_meanwhile_hides_no_second_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
