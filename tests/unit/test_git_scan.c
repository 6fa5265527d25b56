/* SPDX-License-Identifier: MIT */
/* The file system as the planner sees it: what is at a path, repositories. */
#include "koda_test.h"

#include "../lib/child.h"
#include "../lib/git_found.h"
#include "base/strv.h"
#include "run/project/fs_view.h"
#include "wire/placeholder.h"

#include <time.h>

static void a_look_tells_what_is_there(void **state)
{
	static const struct {
		const char *name;
		enum koda_file_type want;
	} rows[] = {
		{ "dir", KODA_FILE_DIR },      { "file", KODA_FILE_OTHER },
		{ "link", KODA_FILE_LINK },    { "dangling", KODA_FILE_LINK },
		{ "none", KODA_FILE_MISSING }, { "file/below", KODA_FILE_MISSING },
		{ "fifo", KODA_FILE_OTHER },   { "held", KODA_FILE_MISSING },
	};
	struct koda_error err = { 0 };
	struct koda_fs_stat look;

	(void)koda_make_dir(*state, "dir");
	(void)koda_make_file(*state, "file", "");
	(void)koda_make_link(*state, "link", "dir");
	(void)koda_make_link(*state, "dangling", "nowhere");
	assert_int_equal(mkfifo(koda_in(*state, "fifo"), 0600), 0);
	assert_int_equal(mkdir(koda_in(*state, "held"), KODA_PLACEHOLDER_MAKING), 0);
	KODA_EACH(row, rows) {
		struct stat st;

		KODA_ASSERT_OK(koda_fs_view_host.look(koda_fs_view_host.ctx,
						      koda_in(*state, row->name), &look, &err),
			       err);
		KODA_EXPECT(row->name, look.type == row->want);
		if (row->want != KODA_FILE_MISSING) {
			assert_int_equal(lstat(koda_in(*state, row->name), &st), 0);
			assert_true(look.dev == st.st_dev && look.ino == st.st_ino);
		}
	}
}

static void repositories_are_found_down_to_the_depth(void **state)
{
	static const struct {
		unsigned int depth;
		size_t dirs;
	} rows[] = { { 0, 1 }, { 1, 2 }, { 2, 3 }, { 3, 4 }, { 10, 4 } };

	koda_make_dirs(*state, ".git");
	koda_make_dirs(*state, "a/.git");
	koda_make_dirs(*state, "a/b/.git");
	koda_make_dirs(*state, "a/b/c/.git");
	KODA_EACH(row, rows) {
		struct git_found found = git_scan(*state, row->depth);

		assert_int_equal(found.dirs.len, row->dirs);
		assert_int_equal(found.files.len, 0);
		assert_true(koda_strv_has(&found.dirs, koda_in(*state, ".git")));
		git_found_clear(&found);
	}
}

static void pointers_and_links_are_files(void **state)
{
	struct git_found found;

	koda_make_dirs(*state, "a");
	koda_make_dirs(*state, "b");
	koda_make_dirs(*state, "real/.git");
	(void)koda_make_file(*state, "a/.git", "gitdir: ../real/.git\n");
	(void)koda_make_link(*state, "b/.git", "../real/.git");
	(void)koda_make_link(*state, "linked", "real");
	found = git_scan(*state, 5);
	assert_int_equal(found.dirs.len, 1);
	assert_int_equal(found.files.len, 2);
	assert_true(koda_strv_has(&found.dirs, koda_in(*state, "real/.git")));
	assert_true(koda_strv_has(&found.files, koda_in(*state, "a/.git")));
	assert_true(koda_strv_has(&found.files, koda_in(*state, "b/.git")));
	git_found_clear(&found);
}

static void submodules_and_worktrees_have_git_directories(void **state)
{
	struct git_found found;

	koda_make_dirs(*state, ".git/modules/one");
	koda_make_dirs(*state, ".git/modules/two/deep");
	koda_make_dirs(*state, ".git/modules/one/modules/inner");
	koda_make_dirs(*state, ".git/worktrees/wt");
	(void)koda_make_file(*state, ".git/modules/one/HEAD", "x");
	(void)koda_make_file(*state, ".git/modules/two/deep/HEAD", "x");
	(void)koda_make_file(*state, ".git/modules/one/modules/inner/HEAD", "x");
	(void)koda_make_file(*state, ".git/worktrees/wt/commondir", "../..\n");
	found = git_scan(*state, 3);
	assert_true(koda_strv_has(&found.dirs, koda_in(*state, ".git/modules/one")));
	assert_true(koda_strv_has(&found.dirs, koda_in(*state, ".git/modules/two/deep")));
	assert_true(koda_strv_has(&found.dirs, koda_in(*state, ".git/modules/one/modules/inner")));
	assert_true(koda_strv_has(&found.dirs, koda_in(*state, ".git/worktrees/wt")));
	git_found_clear(&found);
}

static void pointers_are_followed(void **state)
{
	static const char *const dirs[] = { "gd", "shared", "other", "shared/modules/sub" };
	static const char *const not_dirs[] = { "nothing", "plain", "loop" };
	struct git_found found;

	koda_make_dirs(*state, "p/a");
	koda_make_dirs(*state, "p/b");
	koda_make_dirs(*state, "p/c");
	koda_make_dirs(*state, "p/d");
	koda_make_dirs(*state, "p/e");
	koda_make_dirs(*state, "plain");
	koda_make_dirs(*state, "gd");
	koda_make_dirs(*state, "other");
	koda_make_dirs(*state, "shared/modules/sub");
	(void)koda_make_file(*state, "gd/HEAD", "x");
	(void)koda_make_file(*state, "gd/commondir", "../shared\n");
	(void)koda_make_file(*state, "shared/config", "");
	(void)koda_make_file(*state, "shared/modules/sub/HEAD", "x");
	(void)koda_make_file(*state, "other/HEAD", "x");
	(void)koda_make_link(*state, "step", "gd");
	(void)koda_make_link(*state, "loop", "loop");
	(void)koda_make_file(*state, "p/a/.git", "gitdir: ../../step\n");
	(void)koda_make_file(*state, "p/b/.git", "gitdir: ../../nothing\n");
	(void)koda_make_file(*state, "p/c/.git", "gitdir: ../../plain");
	(void)koda_make_file(*state, "p/d/.git", "gitdir: ../../loop");
	(void)koda_make_link(*state, "p/e/.git", "../../other");
	found = git_scan(koda_in(*state, "p"), 3);
	KODA_EACH(dir, dirs)
		KODA_EXPECT(*dir, koda_strv_has(&found.dirs, koda_in(*state, *dir)));
	KODA_EACH(dir, not_dirs)
		KODA_EXPECT(*dir, !koda_strv_has(&found.dirs, koda_in(*state, *dir)));
	assert_int_equal(found.dirs.len, 4);
	/* Who changes the link changes where the pointer leads. */
	assert_true(koda_strv_has(&found.files, koda_in(*state, "step")));
	assert_int_equal(found.files.len, 6);
	git_found_clear(&found);
}

/* Of the processor, which others do not take. */
static uint64_t spent_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

/* What a scan costs, at least. */
static uint64_t cost_of(const char *dir)
{
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < 50; i++) {
		uint64_t start = spent_ns();
		struct git_found found = git_scan(dir, 3);
		uint64_t cost = spent_ns() - start;

		git_found_clear(&found);
		least = cost < least ? cost : least;
	}
	return least;
}

/* Where the file system counts subdirectories, files cost nothing. */
static void files_are_not_looked_at(void **state)
{
	struct git_found found;
	struct stat st;
	char name[32];

	koda_make_dirs(*state, "empty");
	koda_make_dirs(*state, "full");
	koda_make_dirs(*state, "full/sub/.git");
	for (int i = 0; i < 10000; i++) {
		(void)snprintf(name, sizeof(name), "full/%d", i);
		(void)koda_make_file(*state, name, "");
	}
	found = git_scan(koda_in(*state, "full"), 3);
	assert_int_equal(found.dirs.len, 1);
	git_found_clear(&found);
	assert_int_equal(rename(koda_in(*state, "full/sub"), koda_in(*state, "sub")), 0);
	if (stat(koda_in(*state, "full"), &st) < 0 || st.st_nlink != 2)
		return; /* not counted here */
	/* Reading 10,000 names takes a thousand times as long; noise does not. */
	assert_true(cost_of(koda_in(*state, "full")) <
		    20 * cost_of(koda_in(*state, "empty")) + 500000U);
}

/* The owner can open what is closed, so the command could. Root sees it anyway. */
static int scan_closed(void *dir)
{
	static const mode_t modes[] = { 0311, 0000, 0600, 0644 };

	KODA_CHILD_CHECK(koda_child_drop_root());
	KODA_CHILD_CHECK(mkdir(koda_in(dir, "n"), 0755) == 0);
	KODA_CHILD_CHECK(mkdir(koda_in(dir, "n/.git"), 0755) == 0);
	KODA_EACH(mode, modes) {
		struct koda_strv dirs = KODA_STRV_INIT;
		struct koda_strv files = KODA_STRV_INIT;
		struct koda_strv closed = KODA_STRV_INIT;
		struct koda_survey_budget budget = { 0 };
		const struct koda_git_found lists = { &dirs, &files, &closed, NULL, &budget };
		bool seen;
		int r;

		KODA_CHILD_CHECK(chmod(koda_in(dir, "n"), *mode) == 0);
		r = git_scan_all(dir, 3, &lists, NULL);
		seen = koda_strv_has(&dirs, koda_in(dir, "n/.git")) ||
		       koda_strv_has(&closed, koda_in(dir, "n"));
		koda_strv_clear(&dirs);
		koda_strv_clear(&files);
		koda_strv_clear(&closed);
		(void)chmod(koda_in(dir, "n"), 0755);
		KODA_CHILD_CHECK(r < 0 || seen);
	}
	return 0;
}

static void a_closed_directory_is_not_passed_over(void **state)
{
	assert_int_equal(chmod(*state, 0777), 0);
	assert_int_equal(koda_child_run(scan_closed, *state), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		KODA_SCRATCH_TEST(a_look_tells_what_is_there),
		KODA_SCRATCH_TEST(repositories_are_found_down_to_the_depth),
		KODA_SCRATCH_TEST(pointers_and_links_are_files),
		KODA_SCRATCH_TEST(submodules_and_worktrees_have_git_directories),
		KODA_SCRATCH_TEST(pointers_are_followed),
		KODA_SCRATCH_TEST(files_are_not_looked_at),
		KODA_SCRATCH_TEST(a_closed_directory_is_not_passed_over),
	};

	return KODA_TEST_RUN(tests);
}
