/* SPDX-License-Identifier: MIT */
/* What a site sees on the way to a target: both spellings, and git directories of every kind. */
#include "koda_test.h"

#include "../lib/child.h"
#include "../lib/scratch.h"
#include "base/strv.h"
#include "run/project/site.h"

/* Sees target below dir; fails the test if that fails. */
static void see(struct koda_site *site, const char *dir, const char *target)
{
	koda_auto_free char *lexical = NULL;
	koda_auto_free char *resolved = NULL;
	struct koda_error err = { 0 };

	KODA_ASSERT_OK(koda_site_see(site, koda_in(dir, target), &lexical, &resolved, &err), err);
}

/* HEAD, objects and refs: what makes a directory a git directory. */
static void make_git_dir(const char *dir, const char *name)
{
	char inner[PATH_MAX];

	(void)koda_make_dir(dir, name);
	(void)snprintf(inner, sizeof(inner), "%s/HEAD", name);
	(void)koda_make_file(dir, inner, "ref: refs/heads/main\n");
	(void)snprintf(inner, sizeof(inner), "%s/objects", name);
	(void)koda_make_dir(dir, inner);
	(void)snprintf(inner, sizeof(inner), "%s/refs", name);
	(void)koda_make_dir(dir, inner);
}

static void both_spellings_are_given_back(void **state)
{
	static const struct {
		const char *target;
		const char *lexical;
		const char *resolved;
	} rows[] = {
		{ "dir/file", "dir/file", "dir/file" }, { "link/file", "link/file", "dir/file" },
		{ "link/./a/../b", "link/b", "dir/b" }, { "absent/x", "absent/x", "absent/x" },
		{ "dangling", "dangling", "nowhere" },
	};

	(void)koda_make_dir(*state, "dir");
	(void)koda_make_link(*state, "link", "dir");
	(void)koda_make_link(*state, "dangling", "nowhere");
	KODA_EACH(row, rows) {
		koda_auto_site struct koda_site site = KODA_SITE_INIT;
		koda_auto_free char *lexical = NULL;
		koda_auto_free char *resolved = NULL;
		struct koda_error err = { 0 };

		KODA_ASSERT_OK(koda_site_see(&site, koda_in(*state, row->target), &lexical,
					     &resolved, &err),
			       err);
		assert_string_equal(lexical, koda_in(*state, row->lexical));
		assert_string_equal(resolved, koda_in(*state, row->resolved));
		assert_int_equal(site.git_dirs.len, 0);
		assert_int_equal(site.git_files.len, 0);
	}
}

static int see_from_inside(void *dir)
{
	struct koda_site site = KODA_SITE_INIT;
	char *lexical = NULL;
	char *resolved = NULL;

	KODA_CHILD_CHECK(chdir(koda_make_dir(dir, "sub")) == 0);
	KODA_CHILD_CHECK(koda_site_see(&site, "../x", &lexical, &resolved, NULL) == KODA_OK);
	KODA_CHILD_CHECK(strcmp(lexical, koda_in(dir, "x")) == 0);
	KODA_CHILD_CHECK(strcmp(resolved, koda_in(dir, "x")) == 0);
	free(lexical);
	free(resolved);
	koda_site_clear(&site);
	return 0;
}

static void a_relative_target_starts_at_the_working_directory(void **state)
{
	assert_int_equal(koda_child_run(see_from_inside, *state), 0);
}

static void what_cannot_be_seen_writes_no_result(void **state)
{
	koda_auto_site struct koda_site site = KODA_SITE_INIT;
	struct koda_error err = { 0 };
	char *lexical = NULL;
	char *resolved = NULL;

	(void)koda_make_link(*state, "loop", "loop");
	KODA_ASSERT_FAILS(KODA_E_SYS,
			  koda_site_see(&site, koda_in(*state, "loop"), &lexical, &resolved, &err),
			  err);
	KODA_ASSERT_FAILS(KODA_E_INVALID, koda_site_see(&site, "", &lexical, &resolved, &err), err);
	assert_null(lexical);
	assert_null(resolved);
}

static const struct {
	const char *target;
	const char *dirs[3];
	const char *files[2];
} sights[] = {
	{ "plain/file", { NULL }, { NULL } },
	{ "repo", { "repo/.git" }, { NULL } },
	{ "repo/src/file", { "repo/.git" }, { NULL } },
	{ "repo/.git/hooks/pre-commit", { "repo/.git" }, { NULL } },
	{ "repo/.git/worktrees/tree/HEAD", { "repo/.git", "repo/.git/worktrees/tree" }, { NULL } },
	{ "repo/nested/file", { "repo/.git", "repo/nested/.git" }, { NULL } },
	{ "worktree/file", { NULL }, { "worktree/.git" } },
	{ "linked/file", { NULL }, { "linked/.git" } },
	{ "dangling/file", { NULL }, { "dangling/.git" } },
	{ "bare.git", { "bare.git" }, { NULL } },
	{ "bare.git/hooks/update", { "bare.git" }, { NULL } },
	{ "no-refs/file", { NULL }, { NULL } },
	{ "no-objects/file", { NULL }, { NULL } },
	{ "no-head/file", { NULL }, { NULL } },
	{ "to-repo/file", { "repo/.git" }, { NULL } },
	{ "file/HEAD", { NULL }, { NULL } },
	{ "absent/file", { NULL }, { NULL } },
};

static void make_sights(const char *dir)
{
	(void)koda_make_dir(dir, "plain");
	(void)koda_make_dir(dir, "repo");
	make_git_dir(dir, "repo/.git");
	(void)koda_make_dir(dir, "repo/nested");
	(void)koda_make_dir(dir, "repo/nested/.git"); /* half-made is protected just as well */
	(void)koda_make_dir(dir, "repo/.git/worktrees");
	(void)koda_make_dir(dir, "repo/.git/worktrees/tree");
	(void)koda_make_file(dir, "repo/.git/worktrees/tree/HEAD", "");
	(void)koda_make_file(dir, "repo/.git/worktrees/tree/commondir", "../..\n");
	(void)koda_make_dir(dir, "worktree");
	(void)koda_make_file(dir, "worktree/.git", "gitdir: ../repo/.git/worktrees/tree\n");
	(void)koda_make_dir(dir, "linked");
	(void)koda_make_link(dir, "linked/.git", "../repo/.git");
	(void)koda_make_dir(dir, "dangling");
	(void)koda_make_link(dir, "dangling/.git", "nowhere");
	make_git_dir(dir, "bare.git");
	make_git_dir(dir, "no-refs");
	make_git_dir(dir, "no-objects");
	make_git_dir(dir, "no-head");
	assert_int_equal(rmdir(koda_in(dir, "no-refs/refs")), 0);
	assert_int_equal(rmdir(koda_in(dir, "no-objects/objects")), 0);
	assert_int_equal(unlink(koda_in(dir, "no-head/HEAD")), 0);
	(void)koda_make_link(dir, "to-repo", "repo");
	(void)koda_make_file(dir, "file", "");
}

static void git_directories_on_the_way_are_noted(void **state)
{
	make_sights(*state);
	KODA_EACH(row, sights) {
		koda_auto_site struct koda_site site = KODA_SITE_INIT;
		size_t dirs = 0;
		size_t files = 0;

		see(&site, *state, row->target);
		for (; dirs < 3 && row->dirs[dirs]; dirs++)
			KODA_EXPECT(row->target, koda_strv_has(&site.git_dirs,
							       koda_in(*state, row->dirs[dirs])));
		for (; files < 2 && row->files[files]; files++)
			KODA_EXPECT(row->target, koda_strv_has(&site.git_files,
							       koda_in(*state, row->files[files])));
		KODA_EXPECT(row->target, site.git_dirs.len == dirs);
		KODA_EXPECT(row->target, site.git_files.len == files);
	}
}

static void the_place_knows_what_the_site_saw(void **state)
{
	koda_auto_site struct koda_site site = KODA_SITE_INIT;
	struct koda_place place = { .size = sizeof(place) };

	make_sights(*state);
	see(&site, *state, "repo/file");
	see(&site, *state, "worktree/file");
	place = koda_site_place(&site);
	assert_string_equal(place.git_dirs[0], koda_in(*state, "repo/.git"));
	assert_null(place.git_dirs[1]);
	assert_string_equal(place.git_files[0], koda_in(*state, "worktree/.git"));
	assert_null(place.git_files[1]);
}

/* A host looks at thousands of targets in one repository; the list must not grow with them. */
static void what_was_seen_before_is_not_noted_again(void **state)
{
	koda_auto_site struct koda_site site = KODA_SITE_INIT;

	make_sights(*state);
	for (int i = 0; i < 10; i++) {
		see(&site, *state, "repo/file");
		see(&site, *state, "bare.git/hooks/update");
		see(&site, *state, "worktree/file");
	}
	assert_int_equal(site.git_dirs.len, 2);
	assert_int_equal(site.git_files.len, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		KODA_SCRATCH_TEST(both_spellings_are_given_back),
		KODA_SCRATCH_TEST(a_relative_target_starts_at_the_working_directory),
		KODA_SCRATCH_TEST(what_cannot_be_seen_writes_no_result),
		KODA_SCRATCH_TEST(git_directories_on_the_way_are_noted),
		KODA_SCRATCH_TEST(the_place_knows_what_the_site_saw),
		KODA_SCRATCH_TEST(what_was_seen_before_is_not_noted_again),
	};

	return KODA_TEST_RUN(tests);
}
