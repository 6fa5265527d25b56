/* SPDX-License-Identifier: MIT */
/* T-30. What a survey of the project may cost, and what becomes of many repositories. */
#include "koda_test.h"

#include "../lib/scratch.h"
#include "run/project/dir_snapshot.h"
#include "run/project/git_close.h"
#include "run/project/git_scan.h"
#include "run/project/site.h"
#include "run/project/survey_budget.h"
#include "run/project/worktree.h"

#include <koda/policy.h>

#define REPOSITORIES 40
#define SUBDIRS      100

struct lists {
	struct koda_strv dirs;
	struct koda_strv files;
	struct koda_strv closed;
};

static void clear(struct lists *lists)
{
	koda_strv_clear(&lists->dirs);
	koda_strv_clear(&lists->files);
	koda_strv_clear(&lists->closed);
}

static int survey(const char *root, struct lists *lists, struct koda_survey_budget *budget,
		  struct koda_error *err)
{
	const struct koda_git_found found = { &lists->dirs, &lists->files, &lists->closed, NULL,
					      budget };
	int r = koda_git_scan(root, 5, &found, err);

	return r < 0 ? r : koda_git_related_follow(&found, err);
}

/* before, the number, after; until the next one. */
static char *numbered(const char *before, int i, const char *after)
{
	static char name[64];

	(void)snprintf(name, sizeof(name), "%s%d%s", before, i, after);
	return name;
}

static void make_subdirs(const char *base, const char *dir, int count)
{
	(void)koda_make_dir(base, dir);
	for (int i = 0; i < count; i++) {
		char name[80];

		(void)snprintf(name, sizeof(name), "%s/%d", dir, i);
		(void)koda_make_dir(base, name);
	}
}

/* As many repositories as you like whose submodules are behind a link to one tree. */
static void each_target_is_looked_at_once(void **state)
{
	struct lists lists = { KODA_STRV_INIT, KODA_STRV_INIT, KODA_STRV_INIT };
	struct koda_survey_budget budget = { 0 };
	struct koda_error err = { 0 };

	make_subdirs(*state, "tree", SUBDIRS);
	for (int i = 0; i < REPOSITORIES; i++) {
		(void)koda_make_dir(*state, numbered("r", i, ""));
		(void)koda_make_dir(*state, numbered("r", i, "/.git"));
		(void)koda_make_link(*state, numbered("r", i, "/.git/modules"), "../../tree");
		(void)koda_make_link(*state, numbered("r", i, "/.git/worktrees"), "../../tree/7");
	}
	KODA_ASSERT_OK(survey(*state, &lists, &budget, &err), err);
	assert_int_equal(lists.dirs.len, REPOSITORIES);
	/* As part of the project, and as what the links lead to: the tree, and 7 once more. */
	assert_int_equal(budget.dirs, 1 + REPOSITORIES + 2 * (SUBDIRS + 1) + 1);
	clear(&lists);
}

static void one_chain_of_links_is_followed_once(void **state)
{
	struct lists lists = { KODA_STRV_INIT, KODA_STRV_INIT, KODA_STRV_INIT };
	struct koda_survey_budget budget = { 0 };
	struct koda_error err = { 0 };

	(void)koda_make_dir(*state, "real");
	(void)koda_make_file(*state, "real/HEAD", "x");
	(void)koda_make_link(*state, "l0", "real");
	for (int i = 1; i < 30; i++) {
		char to[16];

		(void)snprintf(to, sizeof(to), "l%d", i - 1);
		(void)koda_make_link(*state, numbered("l", i, ""), to);
	}
	for (int i = 0; i < REPOSITORIES; i++) {
		koda_auto_free char *last = strdup(koda_in(*state, "l29"));

		(void)koda_make_dir(*state, numbered("r", i, ""));
		(void)koda_make_link(*state, numbered("r", i, "/.git"), last);
	}
	KODA_ASSERT_OK(survey(*state, &lists, &budget, &err), err);
	assert_int_equal(lists.dirs.len, 1);
	assert_true(koda_strv_has(&lists.dirs, koda_in(*state, "real")));
	assert_true(koda_strv_has(&lists.files, koda_in(*state, "l0")));
	assert_int_equal(lists.files.len, REPOSITORIES + 30);
	assert_true(budget.entries < 4 * REPOSITORIES + 100);
	clear(&lists);
}

/* What is left of each part, and what is said once it is used up. */
static void what_is_beyond_the_budget_is_refused(void **state)
{
	const struct {
		struct koda_survey_budget spent;
		const char *says;
	} rows[] = {
		{ { .dirs = KODA_SURVEY_BUDGET_DIRS - 20 }, "directories to look at" },
		{ { .entries = KODA_SURVEY_BUDGET_ENTRIES - 20 }, "files and links" },
		{ { .bytes = KODA_SURVEY_BUDGET_BYTES - 200 }, "MiB" },
		{ { .began_ns = 1, .deadline_ns = 2 }, "takes too long" },
	};

	make_subdirs(*state, "many", SUBDIRS);
	(void)koda_make_dir(*state, "few");
	KODA_EACH(row, rows) {
		struct lists lists = { KODA_STRV_INIT, KODA_STRV_INIT, KODA_STRV_INIT };
		struct koda_survey_budget budget = row->spent;
		struct koda_error err = { 0 };

		KODA_EXPECT(row->says, survey(*state, &lists, &budget, &err) == KODA_E_LIMIT);
		KODA_EXPECT(row->says, strstr(err.message, row->says) != NULL);
		KODA_EXPECT(row->says, strstr(err.message, "root") != NULL);
		KODA_EXPECT(row->says, strstr(err.field, koda_in(*state, "many")) != NULL ||
					       row->spent.deadline_ns > 0);
		/* Twin */
		budget = (struct koda_survey_budget){ 0 };
		KODA_ASSERT_OK(survey(*state, &lists, &budget, &err), err);
		assert_true(budget.dirs >= SUBDIRS);
		clear(&lists);
	}
}

/* A command can make many worktrees; the user's that come after them count as well. */
static void what_belongs_to_a_repository_is_in_the_budget(void **state)
{
	struct lists lists = { KODA_STRV_INIT, KODA_STRV_INIT, KODA_STRV_INIT };
	struct koda_survey_budget budget = { .dirs = KODA_SURVEY_BUDGET_DIRS - 20 };
	struct koda_error err = { 0 };

	(void)koda_make_dir(*state, ".git");
	make_subdirs(*state, ".git/worktrees", SUBDIRS);
	KODA_ASSERT_FAILS(KODA_E_LIMIT, survey(*state, &lists, &budget, &err), err);
	assert_non_null(strstr(err.field, koda_in(*state, ".git/worktrees")));
	assert_non_null(strstr(err.message, "remove some"));
	clear(&lists);
}

static void paths_are_put_together(void **state)
{
	koda_auto_dir_snapshot struct koda_dir_snapshot snapshot = KODA_DIR_SNAPSHOT_INIT;
	koda_auto_buf struct koda_buf path = KODA_BUF_INIT(SIZE_MAX / 2);
	static const struct {
		uint32_t parent;
		const char *name;
		const char *path;
	} rows[] = {
		{ KODA_DIR_SNAPSHOT_TOP, "/", "/" },
		{ 0, "a", "/a" },
		{ 1, "b", "/a/b" },
		{ KODA_DIR_SNAPSHOT_TOP, "/x/y", "/x/y" },
		{ 3, "z", "/x/y/z" },
		{ 4, "d", "/x/y/z/d" },
	};
	struct koda_survey_budget budget = { 0 };
	struct koda_error err = { 0 };

	(void)state;
	KODA_EACH(row, rows)
		KODA_ASSERT_OK(
			koda_dir_snapshot_add(&snapshot, row->parent, row->name, &budget, &err),
			err);
	for (size_t i = 0; i < KODA_ARRAY_LEN(rows); i++) {
		KODA_ASSERT_OK(koda_dir_snapshot_path(&snapshot, i, &path, &err), err);
		assert_string_equal(path.ptr, rows[i].path);
	}
	assert_int_equal(koda_dir_snapshot_fullest(&snapshot, 0), 1);
	assert_int_equal(koda_dir_snapshot_fullest(&snapshot, 3), 4);
	assert_int_equal(koda_dir_snapshot_fullest(&snapshot, 5), 5);
}

static void add_repositories(struct koda_site *site, const char *base, int count)
{
	struct koda_error err = { 0 };

	for (int i = 0; i < count; i++) {
		(void)koda_make_dir(base, numbered("r", i, ""));
		(void)koda_make_dir(base, numbered("r", i, "/.git"));
		(void)koda_make_dir(base, numbered("r", i, "/.git/hooks"));
		KODA_ASSERT_OK(koda_strv_add(&site->git_dirs,
					     koda_in(base, numbered("r", i, "/.git")), &err),
			       err);
	}
}

/* T-42. The project's own stays open, and so does one of which a hook has another name, which is
 * looked for by the name of the hook. */
static void many_git_directories_are_closed_as_a_whole(void **state)
{
	koda_auto_site struct koda_site site = { .root = strdup(*state) };
	struct koda_error err = { 0 };
	const char *script;

	assert_non_null(site.root);
	(void)koda_make_dir(*state, ".git");
	KODA_ASSERT_OK(koda_strv_add(&site.git_dirs, koda_in(*state, ".git"), &err), err);
	add_repositories(&site, *state, KODA_SITE_GIT_OPEN - 1);
	KODA_ASSERT_OK(koda_git_close_many(&site, &err), err);
	assert_int_equal(site.git_dirs.len, KODA_SITE_GIT_OPEN);
	assert_int_equal(site.git_closed.len, 0);
	(void)koda_make_dir(*state, "more");
	(void)koda_make_dir(*state, "more/.git");
	(void)koda_make_dir(*state, "more/.git/hooks");
	KODA_ASSERT_OK(koda_strv_add(&site.git_dirs, koda_in(*state, "more/.git"), &err), err);
	script = koda_make_file(*state, "script", "");
	assert_int_equal(link(script, koda_in(*state, "more/.git/hooks/pre-commit")), 0);
	KODA_ASSERT_OK(koda_git_close_many(&site, &err), err);
	assert_int_equal(site.git_dirs.len, 2);
	assert_true(koda_strv_has(&site.git_dirs, koda_in(*state, ".git")));
	assert_true(koda_strv_has(&site.git_dirs, koda_in(*state, "more/.git")));
	assert_int_equal(site.git_closed.len, KODA_SITE_GIT_OPEN - 1);
	assert_true(koda_strv_has(&site.git_files, koda_in(*state, "r0/.git")));
}

static void more_repositories_than_can_be_mounted_are_refused(void **state)
{
	koda_auto_site struct koda_site site = { .root = strdup(*state) };
	struct koda_error err = { 0 };

	for (int i = 0; i <= KODA_SITE_GIT_MAX; i++)
		KODA_ASSERT_OK(koda_strv_add(&site.git_dirs, numbered("/r", i, "/.git"), &err),
			       err);
	KODA_ASSERT_FAILS(KODA_E_LIMIT, koda_git_close_many(&site, &err), err);
	assert_non_null(strstr(err.field, "/r40000/.git"));
	assert_non_null(strstr(err.message, "name a project root with fewer"));
}

/* T-43. Names are reserved beside each .git that git may pass over, such as a link. */
static void more_tops_than_can_be_held_are_refused(void **state)
{
	koda_auto_site struct koda_site site = { .root = strdup(*state) };
	struct koda_policy *policy = NULL;
	struct koda_error err = { 0 };

	KODA_ASSERT_OK(koda_policy_new(&policy, &err), err);
	for (int i = 0; i < 4096; i++)
		KODA_ASSERT_OK(koda_strv_add(&site.git_files, numbered("/r", i, "/.git"), &err),
			       err);
	KODA_ASSERT_OK(koda_worktree_note(&site, policy, &err), err);
	KODA_ASSERT_OK(koda_strv_add(&site.git_files, "/last/.git", &err), err);
	KODA_ASSERT_FAILS(KODA_E_LIMIT, koda_worktree_note(&site, policy, &err), err);
	assert_string_equal(err.field, "/last");
	assert_non_null(strstr(err.message, "name a project root with fewer"));
	site.unmounted = true;
	KODA_ASSERT_OK(koda_worktree_note(&site, policy, &err), err);
	koda_policy_free(policy);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		KODA_SCRATCH_TEST(each_target_is_looked_at_once),
		KODA_SCRATCH_TEST(one_chain_of_links_is_followed_once),
		KODA_SCRATCH_TEST(what_is_beyond_the_budget_is_refused),
		KODA_SCRATCH_TEST(what_belongs_to_a_repository_is_in_the_budget),
		cmocka_unit_test(paths_are_put_together),
		KODA_SCRATCH_TEST(many_git_directories_are_closed_as_a_whole),
		KODA_SCRATCH_TEST(more_repositories_than_can_be_mounted_are_refused),
		KODA_SCRATCH_TEST(more_tops_than_can_be_held_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
