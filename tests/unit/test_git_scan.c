/* SPDX-License-Identifier: MIT */
/* The file system as the planner sees it: what is at a path, repositories. */
#include "koda_test.h"

#include "../lib/child.h"
#include "../lib/scratch.h"
#include "base/strv.h"
#include "run/project/fs_view.h"
#include "run/project/git_scan.h"
#include "wire/placeholder.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>

/* Makes dir/path and every directory on the way to it. */
static void make_dirs(const char *dir, const char *path)
{
	koda_auto_free char *full = strdup(koda_in(dir, path));

	assert_non_null(full);
	for (char *at = full + strlen(dir) + 1;; at++) {
		char *slash = strchr(at, '/');

		if (slash)
			*slash = '\0';
		if (mkdir(full, 0755) < 0 && errno != EEXIST)
			fail_msg("mkdir %s: %s", full, strerror(errno));
		if (!slash)
			break;
		*slash = '/';
		at = slash;
	}
}

struct found {
	struct koda_strv dirs;
	struct koda_strv files;
	struct koda_strv closed;
};

/* Looks, and follows what was found. */
static int scan_all(const char *root, unsigned int depth, const struct koda_git_found *found,
		    struct koda_error *err)
{
	int r = koda_git_scan(root, depth, found, err);

	return r < 0 ? r : koda_git_related_follow(found, err);
}

static struct found scan(const char *root, unsigned int depth)
{
	struct found found = { KODA_STRV_INIT, KODA_STRV_INIT, KODA_STRV_INIT };
	struct koda_survey_budget budget = { 0 };
	const struct koda_git_found lists = { &found.dirs, &found.files, &found.closed, NULL,
					      &budget };
	struct koda_error err = { 0 };

	KODA_ASSERT_OK(scan_all(root, depth, &lists, &err), err);
	return found;
}

static void clear(struct found *found)
{
	koda_strv_clear(&found->dirs);
	koda_strv_clear(&found->files);
	koda_strv_clear(&found->closed);
}

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

	make_dirs(*state, ".git");
	make_dirs(*state, "a/.git");
	make_dirs(*state, "a/b/.git");
	make_dirs(*state, "a/b/c/.git");
	KODA_EACH(row, rows) {
		struct found found = scan(*state, row->depth);

		assert_int_equal(found.dirs.len, row->dirs);
		assert_int_equal(found.files.len, 0);
		assert_true(koda_strv_has(&found.dirs, koda_in(*state, ".git")));
		clear(&found);
	}
}

static void pointers_and_links_are_files(void **state)
{
	struct found found;

	make_dirs(*state, "a");
	make_dirs(*state, "b");
	make_dirs(*state, "real/.git");
	(void)koda_make_file(*state, "a/.git", "gitdir: ../real/.git\n");
	(void)koda_make_link(*state, "b/.git", "../real/.git");
	(void)koda_make_link(*state, "linked", "real");
	found = scan(*state, 5);
	assert_int_equal(found.dirs.len, 1);
	assert_int_equal(found.files.len, 2);
	assert_true(koda_strv_has(&found.dirs, koda_in(*state, "real/.git")));
	assert_true(koda_strv_has(&found.files, koda_in(*state, "a/.git")));
	assert_true(koda_strv_has(&found.files, koda_in(*state, "b/.git")));
	clear(&found);
}

static void submodules_and_worktrees_have_git_directories(void **state)
{
	struct found found;

	make_dirs(*state, ".git/modules/one");
	make_dirs(*state, ".git/modules/two/deep");
	make_dirs(*state, ".git/modules/one/modules/inner");
	make_dirs(*state, ".git/worktrees/wt");
	(void)koda_make_file(*state, ".git/modules/one/HEAD", "x");
	(void)koda_make_file(*state, ".git/modules/two/deep/HEAD", "x");
	(void)koda_make_file(*state, ".git/modules/one/modules/inner/HEAD", "x");
	(void)koda_make_file(*state, ".git/worktrees/wt/commondir", "../..\n");
	found = scan(*state, 3);
	assert_true(koda_strv_has(&found.dirs, koda_in(*state, ".git/modules/one")));
	assert_true(koda_strv_has(&found.dirs, koda_in(*state, ".git/modules/two/deep")));
	assert_true(koda_strv_has(&found.dirs, koda_in(*state, ".git/modules/one/modules/inner")));
	assert_true(koda_strv_has(&found.dirs, koda_in(*state, ".git/worktrees/wt")));
	clear(&found);
}

static void pointers_are_followed(void **state)
{
	static const char *const dirs[] = { "gd", "shared", "other", "shared/modules/sub" };
	static const char *const not_dirs[] = { "nothing", "plain", "loop" };
	struct found found;

	make_dirs(*state, "p/a");
	make_dirs(*state, "p/b");
	make_dirs(*state, "p/c");
	make_dirs(*state, "p/d");
	make_dirs(*state, "p/e");
	make_dirs(*state, "plain");
	make_dirs(*state, "gd");
	make_dirs(*state, "other");
	make_dirs(*state, "shared/modules/sub");
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
	found = scan(koda_in(*state, "p"), 3);
	KODA_EACH(dir, dirs)
		KODA_EXPECT(*dir, koda_strv_has(&found.dirs, koda_in(*state, *dir)));
	KODA_EACH(dir, not_dirs)
		KODA_EXPECT(*dir, !koda_strv_has(&found.dirs, koda_in(*state, *dir)));
	assert_int_equal(found.dirs.len, 4);
	/* Who changes the link changes where the pointer leads. */
	assert_true(koda_strv_has(&found.files, koda_in(*state, "step")));
	assert_int_equal(found.files.len, 6);
	clear(&found);
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
		struct found found = scan(dir, 3);
		uint64_t cost = spent_ns() - start;

		clear(&found);
		least = cost < least ? cost : least;
	}
	return least;
}

/* Where the file system counts subdirectories, files cost nothing. */
static void files_are_not_looked_at(void **state)
{
	struct found found;
	struct stat st;
	char name[32];

	make_dirs(*state, "empty");
	make_dirs(*state, "full");
	make_dirs(*state, "full/sub/.git");
	for (int i = 0; i < 10000; i++) {
		(void)snprintf(name, sizeof(name), "full/%d", i);
		(void)koda_make_file(*state, name, "");
	}
	found = scan(koda_in(*state, "full"), 3);
	assert_int_equal(found.dirs.len, 1);
	clear(&found);
	assert_int_equal(rename(koda_in(*state, "full/sub"), koda_in(*state, "sub")), 0);
	if (stat(koda_in(*state, "full"), &st) < 0 || st.st_nlink != 2)
		return; /* not counted here */
	/* Reading 10,000 names takes a thousand times as long; noise does not. */
	assert_true(cost_of(koda_in(*state, "full")) <
		    20 * cost_of(koda_in(*state, "empty")) + 500000U);
}

/* Makes and removes directories for as long as its parent lives. */
static _Noreturn void toggle(const char *dir)
{
	char names[8][16];

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (chdir(dir) < 0)
		_exit(1);
	for (size_t i = 0; i < KODA_ARRAY_LEN(names); i++)
		(void)snprintf(names[i], sizeof(names[i]), "new%zu", i);
	for (;;) {
		KODA_EACH(name, names)
			(void)mkdir(*name, 0755);
		KODA_EACH(name, names)
			(void)rmdir(*name);
	}
}

/* T-30. A file system in memory is the fastest to change. */
static void directories_that_come_and_go_hide_no_others(void **state)
{
	char base[] = "/dev/shm/koda-world-XXXXXX";
	const char *dir = mkdtemp(base) ? base : *state;
	size_t fewest = SIZE_MAX;
	pid_t pid;

	for (char at[] = "0/.git"; at[0] < '6'; at[0]++)
		make_dirs(dir, at);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		toggle(dir);
	for (int i = 0; i < 2000; i++) {
		struct found found = scan(dir, 1);

		fewest = found.dirs.len < fewest ? found.dirs.len : fewest;
		clear(&found);
	}
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
	if (dir == base)
		(void)nftw(dir, koda_scratch_remove_, 16, FTW_DEPTH | FTW_PHYS);
	assert_int_equal(fewest, 6);
}

static ino_t changing; /* a directory that is not counted yet when it is first looked at */

/* Directories that exist only between the first look at their parent and the second. */
static const char *const short_lived[] = { "new0", "new1" };
static ino_t fleeting; /* their parent */

/* Creates them, but st_nlink is from before, as when the kernel copies it first and st_ctime later. */
static int stat_torn(int fd, struct stat *ret_st)
{
	int r;

	KODA_EACH(name, short_lived)
		(void)mkdirat(fd, *name, 0755);
	r = fstatat(fd, "", ret_st, AT_EMPTY_PATH);
	ret_st->st_nlink -= KODA_ARRAY_LEN(short_lived);
	return r;
}

/* In the place of the C library's. */
int fstat(int fd, struct stat *ret_st)
{
	int r = fstatat(fd, "", ret_st, AT_EMPTY_PATH);

	if (r == 0 && fleeting != 0 && ret_st->st_ino == fleeting) {
		if (faccessat(fd, short_lived[0], F_OK, 0) < 0)
			return stat_torn(fd, ret_st);
		KODA_EACH(name, short_lived)
			(void)unlinkat(fd, *name, AT_REMOVEDIR);
		fleeting = 0;
		return fstatat(fd, "", ret_st, AT_EMPTY_PATH);
	}
	if (r == 0 && changing != 0 && ret_st->st_ino == changing) {
		ret_st->st_nlink--;
		changing = 0;
	}
	return r;
}

/* T-30. Its time is from before the scan. */
static void a_directory_that_is_counted_late_hides_no_other(void **state)
{
	const struct timespec tick = { .tv_nsec = 50000000 };
	struct found found;
	struct stat st;

	make_dirs(*state, "one/.git");
	make_dirs(*state, "two/.git");
	(void)nanosleep(&tick, NULL);
	assert_int_equal(lstat(*state, &st), 0);
	changing = st.st_ino;
	found = scan(*state, 1);
	assert_int_equal(changing, 0);
	assert_int_equal(found.dirs.len, 2);
	clear(&found);
}

/* T-30. rmdir() on tmpfs may leave st_ctime as it was. */
static void directories_removed_without_a_new_time_hide_no_others(void **state)
{
	char base[] = "/dev/shm/koda-world-XXXXXX";
	const char *dir = mkdtemp(base) ? base : *state;
	size_t fewest = SIZE_MAX;
	struct stat st;

	for (char at[] = "0/.git"; at[0] < '6'; at[0]++)
		make_dirs(dir, at);
	assert_int_equal(lstat(dir, &st), 0);
	for (int i = 0; i < 200; i++) {
		struct found found;

		fleeting = st.st_ino;
		found = scan(dir, 1);
		fewest = found.dirs.len < fewest ? found.dirs.len : fewest;
		clear(&found);
	}
	fleeting = 0;
	if (dir == base)
		(void)nftw(dir, koda_scratch_remove_, 16, FTW_DEPTH | FTW_PHYS);
	assert_int_equal(fewest, 6);
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
		r = scan_all(dir, 3, &lists, NULL);
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
		KODA_SCRATCH_TEST(directories_that_come_and_go_hide_no_others),
		KODA_SCRATCH_TEST(a_directory_that_is_counted_late_hides_no_other),
		KODA_SCRATCH_TEST(directories_removed_without_a_new_time_hide_no_others),
	};

	return KODA_TEST_RUN(tests);
}
