/* SPDX-License-Identifier: MIT */
/* T-43 what must not appear at the top of a work tree, and in a submodule that is not checked out.
 */
#include "koda_test.h"

#include "../lib/scratch.h"
#include "base/strv.h"
#include "run/project/git_close.h"
#include "run/project/site.h"
#include "run/project/worktree.h"

#include <koda/policy.h>

struct scene {
	struct koda_site site;
	struct koda_policy *policy;
};

/* The site of root below dir, with what the policy lets be written besides (may be NULL). */
static struct scene look(const char *dir, const char *further)
{
	const char *const env[] = { "HOME=/no/such/home", "PATH=/no/such/bin", NULL };
	struct scene scene = { .site = KODA_SITE_INIT };
	struct koda_error err = { 0 };

	KODA_ASSERT_OK(koda_policy_new(&scene.policy, &err), err);
	KODA_ASSERT_OK(koda_site_load(&scene.site, koda_in(dir, "root"), env, &err), err);
	if (further) {
		const char *path = koda_in(dir, further);

		KODA_ASSERT_OK(koda_policy_add(scene.policy, KODA_LIST_ALLOW_WRITE, path,
					       strlen(path), &err),
			       err);
	}
	return scene;
}

static void note(struct scene *scene)
{
	struct koda_error err = { 0 };

	KODA_ASSERT_OK(koda_worktree_note(&scene->site, scene->policy, &err), err);
}

static void forget(struct scene *scene)
{
	koda_site_clear(&scene->site);
	koda_policy_free(scene->policy);
}

static bool reserves(const struct scene *scene, const char *dir, const char *name)
{
	return koda_strv_has(&scene->site.missing_dirs, koda_in(dir, name));
}

static void one_part_is_missing_and_the_link_is_closed(void **state)
{
	static const struct {
		const char *there[4];
		const char *reserved; /* NULL: it is a git directory */
	} rows[] = {
		{ { NULL }, "root/refs" },
		{ { "root/objects" }, "root/refs" },
		{ { "root/HEAD", "root/objects" }, "root/refs" },
		{ { "root/refs" }, "root/objects" },
		{ { "root/refs", "root/HEAD" }, "root/objects" },
		{ { "root/refs", "root/objects" }, "root/HEAD" },
		{ { "root/refs", "root/objects", "root/HEAD" }, NULL },
	};

	(void)koda_make_dir(*state, "root");
	KODA_EACH(row, rows) {
		struct scene scene;

		for (size_t i = 0; row->there[i]; i++)
			(void)koda_make_dir(*state, row->there[i]);
		scene = look(*state, NULL);
		note(&scene);
		assert_int_equal(scene.site.missing_dirs.len, row->reserved ? 2 : 0);
		assert_true(!row->reserved || reserves(&scene, *state, row->reserved));
		assert_true(!row->reserved || reserves(&scene, *state, "root/commondir"));
		forget(&scene);
		for (size_t i = 0; row->there[i]; i++)
			assert_int_equal(rmdir(koda_in(*state, row->there[i])), 0);
	}
}

/* Another run, which found refs there, holds it. */
static void a_placeholder_of_another_run_is_held_too(void **state)
{
	struct scene scene;

	(void)koda_make_dir(*state, "root");
	assert_int_equal(mknod(koda_in(*state, "root/objects"), S_IFSOCK, 0), 0);
	scene = look(*state, NULL);
	note(&scene);
	assert_true(reserves(&scene, *state, "root/refs"));
	assert_true(reserves(&scene, *state, "root/objects"));
	assert_false(reserves(&scene, *state, "root/HEAD"));
	forget(&scene);
}

static void every_top_of_a_work_tree_counts(void **state)
{
	struct koda_error err = { 0 };
	struct scene scene;

	(void)koda_make_dir(*state, "root");
	(void)koda_make_dir(*state, "root/a");
	(void)koda_make_dir(*state, "root/b");
	(void)koda_make_dir(*state, "root/c.git");
	(void)koda_make_dir(*state, "further");
	scene = look(*state, "further");
	KODA_ASSERT_OK(koda_strv_add(&scene.site.git_dirs, koda_in(*state, "root/.git"), &err),
		       err);
	KODA_ASSERT_OK(koda_strv_add(&scene.site.git_dirs, koda_in(*state, "root/a/.git"), &err),
		       err);
	KODA_ASSERT_OK(koda_strv_add(&scene.site.git_dirs, koda_in(*state, "root/c.git"), &err),
		       err);
	KODA_ASSERT_OK(koda_strv_add(&scene.site.git_files, koda_in(*state, "root/b/.git"), &err),
		       err);
	note(&scene);
	assert_true(reserves(&scene, *state, "root/refs"));
	assert_true(reserves(&scene, *state, "root/a/refs"));
	assert_true(reserves(&scene, *state, "root/a/commondir"));
	assert_true(reserves(&scene, *state, "root/b/refs"));
	assert_true(reserves(&scene, *state, "further/refs"));
	assert_true(reserves(&scene, *state, "further/commondir"));
	assert_true(reserves(&scene, *state, "further/.git"));
	assert_int_equal(scene.site.missing_dirs.len, 9);
	forget(&scene);
}

/* A git directory that is closed as a whole, and what is reserved beside it. */
static void git_stops_at_what_is_closed(void **state)
{
	static const struct {
		const char *head;    /* NULL: none */
		const char *further; /* a file that there is, too; may be NULL */
		bool unmounted;
		bool firm;
	} rows[] = {
		{ "ref: refs/heads/main\n", NULL, false, true },
		{ "0123456789abcdef0123456789abcdef01234567\n", NULL, false, true },
		{ "ref: refs/heads/main\n", NULL, true, false },
		{ "ref: refs/heads/main\n", "root/a/.git/commondir", false, false },
		{ "ref: elsewhere\n", NULL, false, false },
		{ "0123456789abcdef\n", NULL, false, false },
		{ "", NULL, false, false },
		{ NULL, NULL, false, false },
	};
	struct koda_error err = { 0 };

	(void)koda_make_dir(*state, "root");
	(void)koda_make_dir(*state, "root/a");
	(void)koda_make_dir(*state, "root/a/.git");
	(void)koda_make_dir(*state, "root/a/.git/objects");
	(void)koda_make_dir(*state, "root/a/.git/refs");
	KODA_EACH(row, rows) {
		const char *git = koda_in(*state, "root/a/.git");
		struct scene scene = look(*state, NULL);
		bool closed = false;

		if (row->head)
			(void)koda_make_file(*state, "root/a/.git/HEAD", row->head);
		if (row->further)
			(void)koda_make_file(*state, row->further, "x");
		scene.site.unmounted = row->unmounted;
		KODA_ASSERT_OK(koda_git_close_one(&scene.site, git, &closed, &err), err);
		assert_true(closed);
		note(&scene);
		assert_int_equal(reserves(&scene, *state, "root/a/refs"), !row->firm);
		assert_int_equal(reserves(&scene, *state, "root/a/commondir"), !row->firm);
		forget(&scene);
		(void)unlink(koda_in(*state, "root/a/.git/HEAD"));
		if (row->further)
			(void)unlink(koda_in(*state, row->further));
	}
}

/* It may be what a command has put beside a .git that was closed. */
static void no_top_is_a_git_directory_itself(void **state)
{
	static const struct {
		const char *there[5];
		bool refused;
	} rows[] = {
		{ { "root/HEAD", "root/objects", "root/refs", "root/config" }, false },
		{ { "root/.git", "root/HEAD", "root/objects", "root/refs" }, false },
		{ { "root/.git", "root/HEAD", "root/objects", "root/config" }, false },
		{ { "root/.git", "root/objects", "root/refs", "root/config" }, false },
		{ { "root/.git", "root/HEAD", "root/objects", "root/refs", "root/config" }, true },
		{ { "root/.git", "root/HEAD", "root/objects", "root/refs", "root/hooks" }, true },
		{ { "root/.git", "root/HEAD", "root/commondir" }, true },
	};

	(void)koda_make_dir(*state, "root");
	KODA_EACH(row, rows) {
		struct koda_error err = { 0 };

		for (size_t i = 0; i < KODA_ARRAY_LEN(row->there) && row->there[i]; i++)
			(void)koda_make_dir(*state, row->there[i]);
		assert_int_equal(koda_worktree_check_top(koda_in(*state, "root"), &err),
				 row->refused ? KODA_E_DENIED : KODA_OK);
		for (size_t i = 0; i < KODA_ARRAY_LEN(row->there) && row->there[i]; i++)
			assert_int_equal(rmdir(koda_in(*state, row->there[i])), 0);
	}
}

static void only_directories_that_can_grow_count(void **state)
{
	struct scene scene;

	(void)koda_make_dir(*state, "root");
	(void)koda_make_file(*state, "file", "x");
	scene = look(*state, "file");
	note(&scene);
	assert_int_equal(scene.site.missing_dirs.len, 2);
	forget(&scene);
	scene = look(*state, "none");
	note(&scene);
	assert_int_equal(scene.site.missing_dirs.len, 2);
	forget(&scene);
}

static void submodules_are_those_of_gitmodules(void **state)
{
	struct scene scene;

	(void)koda_make_dir(*state, "root");
	(void)koda_make_dir(*state, "root/there");
	(void)koda_make_dir(*state, "root/empty");
	(void)koda_make_dir(*state, "root/used");
	(void)koda_make_file(*state, "root/used/file", "x");
	(void)koda_make_file(*state, "root/file", "x");
	(void)koda_make_file(*state, "root/there/.git", "gitdir: ../x\n");
	(void)koda_make_file(*state, "root/.gitmodules",
			     "[submodule \"a\"]\n\tpath = missing/sub\n\turl = x\n"
			     "[submodule \"h\"]\n\tpath = empty\n"
			     "[submodule \"i\"]\n\tpath = used\n"
			     "[submodule \"b\"]\n\tpath = there\n"
			     "[submodule \"c\"]\n\tpath = file\n"
			     "[submodule \"d\"]\n\tpath = ../out\n"
			     "[submodule \"e\"]\n\tpath = /abs\n"
			     "[submodule \"f\"]\n\tpath = .git/hooks\n"
			     "[other \"g\"]\n\tpath = other\n");
	scene = look(*state, NULL);
	note(&scene);
	assert_int_equal(scene.site.missing_dirs.len, 6);
	assert_true(reserves(&scene, *state, "root/missing/sub"));
	assert_true(reserves(&scene, *state, "root/empty"));
	assert_false(reserves(&scene, *state, "root/used/.git")); /* git would stop there */
	assert_true(reserves(&scene, *state, "root/there/refs"));
	assert_true(koda_strv_has(&scene.site.git_files, koda_in(*state, "root/there/.git")));
	assert_int_equal(scene.site.git_files.len, 1);
	forget(&scene);
}

static void submodules_of_the_work_tree_around_count_in_the_root(void **state)
{
	struct scene scene;

	(void)koda_make_dir(*state, "root");
	(void)koda_make_dir(*state, ".git");
	(void)koda_make_file(*state, ".gitmodules",
			     "[submodule \"a\"]\n\tpath = root/sub\n"
			     "[submodule \"b\"]\n\tpath = beside\n");
	scene = look(*state, NULL);
	note(&scene);
	assert_int_equal(scene.site.missing_dirs.len, 3);
	assert_true(reserves(&scene, *state, "root/sub"));
	forget(&scene);
}

static void too_many_submodules_are_told(void **state)
{
	koda_auto_buf struct koda_buf text = KODA_BUF_INIT(1U << 20);
	struct koda_error err = { 0 };
	struct scene scene;

	assert_int_equal(koda_buf_addf(&text, "[submodule \"a\"]\n"), KODA_OK);
	for (int i = 0; i <= 4096; i++)
		assert_int_equal(koda_buf_addf(&text, "path = s%d\n", i), KODA_OK);
	(void)koda_make_dir(*state, "root");
	(void)koda_make_file(*state, "root/.gitmodules", text.ptr);
	scene = look(*state, NULL);
	assert_int_equal(koda_worktree_note(&scene.site, scene.policy, &err), KODA_E_LIMIT);
	assert_non_null(strstr(err.message, "submodules"));
	forget(&scene);
}

/* T-30. Each work tree may have a file of its own. */
static void modules_files_are_in_the_budget(void **state)
{
	struct koda_error err = { 0 };
	struct scene scene;

	(void)koda_make_dir(*state, "root");
	(void)koda_make_file(*state, "root/.gitmodules",
			     "[submodule \"a\"]\npath = a\npath = b\npath = c\n");
	scene = look(*state, NULL);
	note(&scene);
	assert_int_equal(scene.site.budget.config, 43);
	assert_true(scene.site.budget.entries >= 4);
	scene.site.budget.config = KODA_SURVEY_BUDGET_CONFIG - 42;
	KODA_ASSERT_FAILS(KODA_E_LIMIT, koda_worktree_note(&scene.site, scene.policy, &err), err);
	assert_non_null(strstr(err.field, "root/.gitmodules"));
	assert_non_null(strstr(err.message, "make this smaller"));
	forget(&scene);
}

/* T-44 */
static void no_root_lies_in_a_git_directory(void **state)
{
	static const struct {
		const char *root;
		bool refused;
	} rows[] = {
		{ "p", false },
		{ "p/src", false },
		{ "p/.git", true },
		{ "p/.git/hooks", true },
		{ "p/.git/objects/pack", true },
		{ "p/.git/modules/sub", true },
		{ "taken-apart/.git", true },
		{ "taken-apart/.git/hooks", true },
		{ "bare", false },
		{ "bare/hooks", true },
		{ "bare/deep/er", true },
		{ "bare/wt", false },
		{ "bare/wt/src", false },
		{ "p/.git/worktrees/wt", true },
		{ "elsewhere/wt/hooks", true },
	};
	static const char *const dirs[] = { "p",
					    "p/src",
					    "p/.git",
					    "p/.git/hooks",
					    "p/.git/objects",
					    "p/.git/objects/pack",
					    "p/.git/refs",
					    "p/.git/modules",
					    "p/.git/modules/sub",
					    "p/.git/worktrees",
					    "p/.git/worktrees/wt",
					    "taken-apart",
					    "taken-apart/.git",
					    "taken-apart/.git/hooks",
					    "bare",
					    "bare/objects",
					    "bare/refs",
					    "bare/hooks",
					    "bare/deep",
					    "bare/deep/er",
					    "bare/wt",
					    "bare/wt/src",
					    "elsewhere",
					    "elsewhere/wt",
					    "elsewhere/wt/hooks" };

	KODA_EACH(dir, dirs)
		(void)koda_make_dir(*state, *dir);
	(void)koda_make_file(*state, "p/.git/HEAD", "ref: refs/heads/main\n");
	(void)koda_make_file(*state, "bare/HEAD", "ref: refs/heads/main\n");
	(void)koda_make_file(*state, "bare/wt/.git", "gitdir: x\n");
	(void)koda_make_file(*state, "elsewhere/wt/HEAD", "ref: refs/heads/main\n");
	(void)koda_make_file(*state, "elsewhere/wt/commondir", "../p/.git\n");
	KODA_EACH(row, rows) {
		struct koda_error err = { 0 };
		int r = koda_worktree_check_root(koda_in(*state, row->root), &err);

		KODA_EXPECT(row->root, r == (row->refused ? KODA_E_DENIED : KODA_OK));
		KODA_EXPECT(row->root, !row->refused || strstr(err.message, "git directory"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		KODA_SCRATCH_TEST(one_part_is_missing_and_the_link_is_closed),
		KODA_SCRATCH_TEST(a_placeholder_of_another_run_is_held_too),
		KODA_SCRATCH_TEST(every_top_of_a_work_tree_counts),
		KODA_SCRATCH_TEST(git_stops_at_what_is_closed),
		KODA_SCRATCH_TEST(no_top_is_a_git_directory_itself),
		KODA_SCRATCH_TEST(only_directories_that_can_grow_count),
		KODA_SCRATCH_TEST(submodules_are_those_of_gitmodules),
		KODA_SCRATCH_TEST(submodules_of_the_work_tree_around_count_in_the_root),
		KODA_SCRATCH_TEST(too_many_submodules_are_told),
		KODA_SCRATCH_TEST(modules_files_are_in_the_budget),
		KODA_SCRATCH_TEST(no_root_lies_in_a_git_directory),
	};

	return KODA_TEST_RUN(tests);
}
