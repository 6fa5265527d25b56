/* SPDX-License-Identifier: MIT */
/* T-92. What is told of a project that has changed since it was looked at. */
#include "koda_test.h"

#include "../lib/scratch.h"
#include "base/clock.h"
#include "run/project/git_scan.h"
#include "run/project/left_behind.h"

#include <sys/resource.h>
#include <sys/time.h>

static void take(const char *root, struct koda_dir_snapshot *snapshot)
{
	struct koda_strv lists[3] = { KODA_STRV_INIT, KODA_STRV_INIT, KODA_STRV_INIT };
	struct koda_survey_budget budget = { 0 };
	const struct koda_git_found found = { &lists[0], &lists[1], &lists[2],
					      NULL,      &budget,   snapshot };
	struct koda_error err = { 0 };

	KODA_ASSERT_OK(koda_git_scan(root, 3, &found, &err), err);
	assert_true(budget.bytes >= snapshot->count * sizeof(*snapshot->dirs));
	KODA_EACH(list, lists)
		koda_strv_clear(list);
}

static void make_git(const char *base, const char *dir)
{
	char name[128];

	(void)koda_make_dir(base, dir);
	(void)snprintf(name, sizeof(name), "%s/objects", dir);
	(void)koda_make_dir(base, name);
	(void)snprintf(name, sizeof(name), "%s/refs", dir);
	(void)koda_make_dir(base, name);
	(void)snprintf(name, sizeof(name), "%s/HEAD", dir);
	(void)koda_make_file(base, name, "ref: refs/heads/main\n");
}

/* Is exactly this left, or nothing if path is NULL? */
static void expect(const char *root, const struct koda_dir_snapshot *snapshot, const char *path,
		   enum koda_left what)
{
	struct koda_left_behind left = KODA_LEFT_BEHIND_INIT;
	struct koda_error err = { 0 };

	KODA_ASSERT_OK(koda_left_behind_find(snapshot, KODA_DEADLINE_NEVER, &left, &err), err);
	assert_int_equal(left.count, path ? 1 : 0);
	if (path) {
		assert_string_equal(left.items[0].path, koda_in(root, path));
		assert_int_equal(left.items[0].what, what);
	}
	koda_left_behind_clear(&left);
}

static void nothing_is_said_of_what_was_there(void **state)
{
	koda_auto_dir_snapshot struct koda_dir_snapshot snapshot = KODA_DIR_SNAPSHOT_INIT;

	(void)koda_make_dir(*state, "a");
	make_git(*state, "a/.git");
	make_git(*state, "bare");
	(void)koda_make_dir(*state, "hg");
	(void)koda_make_dir(*state, "hg/.hg");
	(void)koda_make_dir(*state, "b");
	(void)koda_make_file(*state, "b/.git", "gitdir: ../bare\n");
	take(*state, &snapshot);
	expect(*state, &snapshot, NULL, 0);
	/* All of them change, and a repository is made in a new directory. */
	(void)koda_make_file(*state, "a/x", "");
	(void)koda_make_file(*state, "b/x", "");
	(void)koda_make_file(*state, "hg/x", "");
	(void)koda_make_file(*state, "bare/x", "");
	(void)koda_make_dir(*state, "new");
	make_git(*state, "new/.git");
	/* Neither is an empty directory one. */
	(void)koda_make_dir(*state, "empty");
	(void)koda_make_dir(*state, ".git");
	expect(*state, &snapshot, NULL, 0);
}

static void each_kind_is_told(void **state)
{
	static const struct {
		const char *dir;
		const char *path;
		enum koda_left what;
	} rows[] = {
		{ "1", "1/.git", KODA_LEFT_GIT_DIR },  { "2", "2/.git", KODA_LEFT_GIT_FILE },
		{ "3", "3/.git", KODA_LEFT_GIT_FILE }, { "4", "4", KODA_LEFT_BARE_GIT_DIR },
		{ "5", "5", KODA_LEFT_BARE_GIT_DIR },  { "6", "6/.hg", KODA_LEFT_HG_DIR },
	};

	KODA_EACH(row, rows) {
		koda_auto_dir_snapshot struct koda_dir_snapshot snapshot = KODA_DIR_SNAPSHOT_INIT;

		(void)koda_make_dir(*state, row->dir);
		take(*state, &snapshot);
		switch (row->dir[0]) {
		case '1':
			make_git(*state, "1/.git");
			break;
		case '2':
			(void)koda_make_file(*state, "2/.git", "gitdir: ../1/.git\n");
			break;
		case '3':
			(void)koda_make_link(*state, "3/.git", "../1/.git");
			break;
		case '4':
			(void)koda_make_dir(*state, "4/objects");
			(void)koda_make_dir(*state, "4/refs");
			(void)koda_make_file(*state, "4/HEAD", "ref: refs/heads/main\n");
			break;
		case '5':
			(void)koda_make_file(*state, "5/HEAD", "ref: refs/heads/main\n");
			(void)koda_make_file(*state, "5/commondir", "../1/.git\n");
			break;
		default:
			(void)koda_make_dir(*state, "6/.hg");
		}
		expect(*state, &snapshot, row->path, row->what);
	}
}

/* The times that anybody can set do not count; and a directory that takes the place of another is
 * the place, not the directory. */
static void nothing_hides_a_change(void **state)
{
	koda_auto_dir_snapshot struct koda_dir_snapshot snapshot = KODA_DIR_SNAPSHOT_INIT;
	koda_auto_dir_snapshot struct koda_dir_snapshot second = KODA_DIR_SNAPSHOT_INIT;
	koda_auto_dir_snapshot struct koda_dir_snapshot third = KODA_DIR_SNAPSHOT_INIT;
	struct timespec times[2];
	struct stat st;

	(void)koda_make_dir(*state, "a");
	assert_int_equal(lstat(koda_in(*state, "a"), &st), 0);
	times[0] = st.st_atim;
	times[1] = st.st_mtim;
	take(*state, &snapshot);
	make_git(*state, "a/.git");
	assert_int_equal(utimensat(AT_FDCWD, koda_in(*state, "a"), times, 0), 0);
	expect(*state, &snapshot, "a/.git", KODA_LEFT_GIT_DIR);

	(void)koda_make_dir(*state, "b");
	(void)koda_make_dir(*state, "b/c");
	take(*state, &second);
	assert_int_equal(rename(koda_in(*state, "b"), koda_in(*state, "moved")), 0);
	(void)koda_make_dir(*state, "b");
	(void)koda_make_dir(*state, "b/c");
	make_git(*state, "b/c/.git");
	expect(*state, &second, "b/c/.git", KODA_LEFT_GIT_DIR);

	/* Another in the place of one that was known. */
	take(*state, &third);
	assert_int_equal(rename(koda_in(*state, "b/c/.git"), koda_in(*state, "b/c/old")), 0);
	(void)koda_make_file(*state, "b/c/.git", "gitdir: old\n");
	expect(*state, &third, "b/c/.git", KODA_LEFT_GIT_FILE);
}

static void so_many_are_told_and_the_rest_are_counted(void **state)
{
	koda_auto_dir_snapshot struct koda_dir_snapshot snapshot = KODA_DIR_SNAPSHOT_INIT;
	struct koda_left_behind left = KODA_LEFT_BEHIND_INIT;
	struct koda_error err = { 0 };
	char name[32];

	for (int i = 0; i < KODA_LEFT_BEHIND_MAX + 7; i++) {
		(void)snprintf(name, sizeof(name), "%d", i);
		(void)koda_make_dir(*state, name);
	}
	take(*state, &snapshot);
	for (int i = 0; i < KODA_LEFT_BEHIND_MAX + 7; i++) {
		(void)snprintf(name, sizeof(name), "%d/.git", i);
		(void)koda_make_file(*state, name, "gitdir: x\n");
	}
	KODA_ASSERT_OK(koda_left_behind_find(&snapshot, KODA_DEADLINE_NEVER, &left, &err), err);
	assert_int_equal(left.count, KODA_LEFT_BEHIND_MAX);
	assert_int_equal(left.more, 7);
	koda_left_behind_clear(&left);
}

static void what_was_not_looked_at_is_not_passed_over(void **state)
{
	koda_auto_dir_snapshot struct koda_dir_snapshot snapshot = KODA_DIR_SNAPSHOT_INIT;
	struct koda_left_behind left = KODA_LEFT_BEHIND_INIT;
	struct koda_error err = { 0 };
	struct rlimit files;
	struct rlimit none;

	(void)koda_make_dir(*state, "a");
	take(*state, &snapshot);
	make_git(*state, "a/.git");
	/* The time has come. */
	KODA_ASSERT_FAILS(KODA_E_LIMIT, koda_left_behind_find(&snapshot, 1, &left, &err), err);
	assert_true(left.incomplete);
	koda_left_behind_clear(&left);
	/* Nothing can be opened. */
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
	none = (struct rlimit){ 0, files.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	KODA_ASSERT_FAILS(KODA_E_SYS,
			  koda_left_behind_find(&snapshot, KODA_DEADLINE_NEVER, &left, &err), err);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &files), 0);
	assert_true(left.incomplete);
	koda_left_behind_clear(&left);
	expect(*state, &snapshot, "a/.git", KODA_LEFT_GIT_DIR);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		KODA_SCRATCH_TEST(nothing_is_said_of_what_was_there),
		KODA_SCRATCH_TEST(each_kind_is_told),
		KODA_SCRATCH_TEST(nothing_hides_a_change),
		KODA_SCRATCH_TEST(so_many_are_told_and_the_rest_are_counted),
		KODA_SCRATCH_TEST(what_was_not_looked_at_is_not_passed_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
