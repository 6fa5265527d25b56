/* SPDX-License-Identifier: MIT */
/* Directories of placeholders: made, put away, taken back, and removed when nobody uses them. */
#include "koda_test.h"

#include "../lib/scratch.h"

#include <time.h>

static time_t later;

static time_t told_time(time_t *ret_time)
{
	(void)ret_time;
	return (time)(NULL) + later;
}
#define time(arg) told_time(arg)

/* What somebody does just before something is looked at in the store. */
static void (*meanwhile)(int at, const char *name);

static int watched_fstatat(int at, const char *name, struct stat *ret_st, int flags)
{
	if (meanwhile)
		meanwhile(at, name);
	return (fstatat)(at, name, ret_st, flags);
}
#define fstatat(at, name, ret_st, flags) watched_fstatat(at, name, ret_st, flags)

/* NOLINTBEGIN(bugprone-suspicious-include): the launcher is no library */
#include "../../libexec/stage2/guardian/placeholder.c"
#include "../../libexec/stage2/guardian/placeholder_clear.c"
#include "../../libexec/stage2/guardian/store.c"
/* NOLINTEND(bugprone-suspicious-include) */

#undef time
#undef fstatat

_Noreturn void stage2_fail(enum koda_launch_step step, const char *path, int sys_errno)
{
	fail_msg("%s %s: %s", koda_launch_step_text(step), path, strerror(sys_errno));
	abort();
}

uint64_t stage2_clock_now(void)
{
	return 0;
}

static int open_at(const char *dir, const char *name)
{
	int fd = open(koda_in(dir, name), O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

/* A store, and a project to put from. */
static int begin(const char *dir)
{
	static char path[PATH_MAX];

	(void)snprintf(path, sizeof(path), "%s", koda_in(dir, "state/koda/directories"));
	if (store >= 0)
		(void)close(store);
	store = -1;
	store_path = path;
	(void)koda_make_dir(dir, "state");
	(void)koda_make_dir(dir, "state/koda");
	assert_int_equal(chmod(koda_in(dir, "state/koda"), 0700), 0);
	(void)koda_make_dir(dir, "project");
	return open_at(dir, "project");
}

static struct koda_op op_of(const char *dir, const char *path)
{
	/* Like those of a plan, they stay as they are. */
	static char texts[16][PATH_MAX];
	static size_t used;
	char *text = texts[used++];

	assert_true(used < sizeof(texts) / sizeof(texts[0]));
	(void)snprintf(text, sizeof(texts[0]), "%s", koda_in(dir, path));
	return (struct koda_op){ .kind = KODA_OP_PLACEHOLDER, .text1 = { text, strlen(text) } };
}

static ino_t inode_of(int parent, const char *name)
{
	struct stat st;

	return fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) == 0 ? st.st_ino : 0;
}

static void a_directory_comes_back_to_where_it_was(void **state)
{
	int project = begin(*state);
	struct koda_op op = op_of(*state, "project/.vscode");
	int other;
	ino_t inode;

	assert_int_equal(stage2_placeholder_make(project, ".vscode", &op), 0);
	assert_true(stage2_placeholder_is(project, ".vscode", &op));
	inode = inode_of(project, ".vscode");
	stage2_placeholder_remove(project, ".vscode", &op);
	assert_int_equal(inode_of(project, ".vscode"), 0);
	/* Neither to another name, nor to another directory, nor in place of something. */
	assert_false(stage2_store_take(project, ".idea", false));
	assert_false(stage2_store_take(project, ".vscode", true));
	(void)koda_make_dir(*state, "other");
	other = open_at(*state, "other");
	assert_false(stage2_store_take(other, ".vscode", false));
	(void)koda_make_file(*state, "project/.vscode", "");
	assert_false(stage2_store_take(project, ".vscode", false));
	assert_int_equal(unlink(koda_in(*state, "project/.vscode")), 0);
	assert_int_equal(stage2_placeholder_make(project, ".vscode", &op), 0);
	assert_true(inode_of(project, ".vscode") == inode);
	stage2_placeholder_remove(project, ".vscode", &op);
	(void)close(other);
	(void)close(project);
}

static void a_new_directory_of_the_same_name_gets_nothing(void **state)
{
	int project = begin(*state);
	struct koda_op op = op_of(*state, "project/.vscode");

	assert_int_equal(stage2_placeholder_make(project, ".vscode", &op), 0);
	stage2_placeholder_remove(project, ".vscode", &op);
	(void)close(project);
	/* On most file systems it has the number of the one before. */
	assert_int_equal(rmdir(koda_in(*state, "project")), 0);
	(void)koda_make_dir(*state, "project");
	project = open_at(*state, "project");
	assert_false(stage2_store_take(project, ".vscode", false));
	(void)close(project);
}

static void what_is_put_in_stays(void **state)
{
	int project = begin(*state);
	struct koda_op op = op_of(*state, "project/.vscode");
	struct stat st;

	(void)koda_make_dir(*state, "project/.git"); /* so there is a .gitignore */
	assert_int_equal(stage2_placeholder_make(project, ".vscode", &op), 0);
	assert_int_equal(access(koda_in(*state, "project/.vscode/.gitignore"), F_OK), 0);
	(void)koda_make_file(*state, "project/.vscode/file", "x");
	/* It is moved at the moment in which it is filled. */
	assert_false(stage2_store_put(project, ".vscode"));
	assert_int_equal(access(koda_in(*state, "project/.vscode/file"), F_OK), 0);
	/* It is removed at that moment. */
	stage2_placeholder_clear(project, ".vscode");
	assert_int_equal(access(koda_in(*state, "project/.vscode/file"), F_OK), 0);
	assert_int_equal(access(koda_in(*state, "project/.vscode/.gitignore"), F_OK), -1);
	assert_int_equal(stat(koda_in(*state, "project/.vscode"), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0755);
	stage2_placeholder_remove(project, ".vscode", &op);
	assert_int_equal(access(koda_in(*state, "project/.vscode/file"), F_OK), 0);
	(void)close(project);
}

static void where_nothing_can_be_kept_it_is_removed(void **state)
{
	int project = begin(*state);
	struct koda_op op = op_of(*state, "project/.vscode");

	/* The user has no state, and gets none. */
	assert_int_equal(rmdir(koda_in(*state, "state/koda")), 0);
	assert_int_equal(stage2_placeholder_make(project, ".vscode", &op), 0);
	stage2_placeholder_remove(project, ".vscode", &op);
	assert_int_equal(inode_of(project, ".vscode"), 0);
	assert_int_equal(rmdir(koda_in(*state, "state")), 0);
	(void)close(project);
}

static void what_is_made_inherits_from_the_directory(void **state)
{
	int project = begin(*state);
	struct koda_op op = op_of(*state, "project/.vscode");
	struct stat st;

	assert_int_equal(fchmod(project, 02755), 0);
	assert_int_equal(stage2_placeholder_make(project, ".vscode", &op), 0);
	assert_int_equal(fstatat(project, ".vscode", &st, 0), 0);
	assert_int_equal(st.st_mode & 07777, 02755);
	assert_true(stage2_placeholder_is(project, ".vscode", &op));
	stage2_placeholder_remove(project, ".vscode", &op);
	assert_int_equal(inode_of(project, ".vscode"), 0);
	(void)close(project);
}

/* The name in the store under which this one would be kept. */
static const char *key_of(int parent, const char *name)
{
	static char kept[KEY_MAX];

	make_store();
	assert_true(make_key(parent, name, false, kept));
	return kept;
}

static mode_t mode_of(const char *dir, const char *name)
{
	struct stat st;

	assert_int_equal(lstat(koda_in(dir, name), &st), 0);
	return st.st_mode & 07777;
}

/* A further name or a link in the store, as a swap in the middle of stage2_store_put() left it. */
static void expect_left_alone(const char *dir, int project, const char *name)
{
	struct koda_op op = op_of(dir, "project/.vscode");

	assert_false(stage2_store_take(project, ".vscode", false));
	assert_int_equal(mode_of(dir, "target"), 0600);
	assert_int_equal(inode_of(project, ".vscode"), 0);
	assert_int_equal(stage2_placeholder_make(project, ".vscode", &op), 0);
	assert_true(stage2_placeholder_is(project, ".vscode", &op));
	assert_int_equal(mode_of(dir, "target"), 0600);
	assert_int_equal(mode_of(dir, "private"), 0700);
	/* Nor does it keep others from being kept. */
	stage2_placeholder_remove(project, ".vscode", &op);
	assert_int_equal(inode_of(project, ".vscode"), 0);
	assert_true(stage2_store_take(project, ".vscode", false));
	assert_int_equal(mode_of(dir, "target"), 0600);
	stage2_placeholder_remove(project, ".vscode", &op);
	/* It is no key's. */
	assert_int_equal(unlinkat(store, name, 0), 0);
	stage2_placeholder_clear(store, key_of(project, ".vscode"));
}

static void make_targets(const char *dir)
{
	(void)koda_make_file(dir, "target", "x");
	assert_int_equal(chmod(koda_in(dir, "target"), 0600), 0);
	(void)koda_make_dir(dir, "private");
	assert_int_equal(chmod(koda_in(dir, "private"), 0700), 0);
}

static void a_link_in_the_store_is_not_followed(void **state)
{
	static const char *const targets[] = { "target", "private" };
	int project = begin(*state);
	char aside[KEY_MAX + 1];

	make_targets(*state);
	(void)snprintf(aside, sizeof(aside), "=%s", key_of(project, ".vscode"));
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(
			symlinkat(koda_in(*state, targets[i]), store, key_of(project, ".vscode")),
			0);
		expect_left_alone(*state, project, aside);
	}
	assert_int_equal(
		linkat(AT_FDCWD, koda_in(*state, "target"), store, key_of(project, ".vscode"), 0),
		0);
	expect_left_alone(*state, project, aside);
	assert_int_equal(mknodat(store, key_of(project, ".vscode"), S_IFSOCK, 0), 0);
	expect_left_alone(*state, project, aside);
	(void)close(project);
}

static int swapped;

/* As soon as the link is in the store, the name it was moved from is made again. */
static void make_again(int at, const char *name)
{
	(void)name;
	if (at == store && swapped >= 0)
		assert_int_equal(mkdirat(swapped, ".vscode", 0755), 0);
	if (at == store)
		swapped = -1;
}

static void what_is_exchanged_while_it_is_moved_is_never_taken(void **state)
{
	int project = begin(*state);
	struct koda_op op = op_of(*state, "project/.vscode");
	char aside[KEY_MAX + 1];

	make_targets(*state);
	(void)snprintf(aside, sizeof(aside), "=%s", key_of(project, ".vscode"));
	/* stage2_placeholder_remove() has seen a placeholder. */
	assert_int_equal(symlinkat(koda_in(*state, "target"), project, ".vscode"), 0);
	swapped = project;
	meanwhile = make_again;
	assert_true(stage2_store_put(project, ".vscode"));
	meanwhile = NULL;
	assert_int_equal(swapped, -1);
	assert_int_equal(inode_of(store, key_of(project, ".vscode")), 0);
	assert_int_equal(rmdir(koda_in(*state, "project/.vscode")), 0);
	expect_left_alone(*state, project, aside);
	/* Where it can, it goes back. */
	assert_int_equal(symlinkat(koda_in(*state, "target"), project, ".vscode"), 0);
	assert_false(stage2_store_put(project, ".vscode"));
	assert_int_equal(unlinkat(project, ".vscode", 0), 0);
	assert_int_equal(mode_of(*state, "target"), 0600);
	assert_int_equal(stage2_placeholder_make(project, ".vscode", &op), 0);
	(void)close(project);
}

static void a_directory_that_is_the_users_goes_back_as_it_is(void **state)
{
	int project = begin(*state);
	const char *kept = key_of(project, ".vscode");

	assert_int_equal(mkdirat(store, kept, 0750), 0);
	assert_false(stage2_store_take(project, ".vscode", false));
	assert_int_equal(mode_of(*state, "project/.vscode"), 0750);
	(void)close(project);
}

/* T-32. Somebody who still had it open has filled it, and set its time. */
static void what_was_filled_in_the_store_does_not_come_back(void **state)
{
	static const char *const names[] = { ".vscode", ".git" };
	const struct timespec times[] = { { .tv_nsec = UTIME_OMIT },
					  { .tv_sec = KODA_PLACEHOLDER_TIME } };
	int project = begin(*state);

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		const char *kept = key_of(project, names[i]);
		char file[KEY_MAX + 8];

		(void)snprintf(file, sizeof(file), "%s/HEAD", kept);
		assert_int_equal(mkdirat(store, kept, 0700), 0);
		assert_int_equal(mknodat(store, file, S_IFREG | 0600, 0), 0);
		/* As a repository it does not come back at all. */
		if (i == 0)
			assert_int_equal(utimensat(store, kept, times, 0), 0);
		assert_false(stage2_store_take(project, names[i], false));
		assert_int_equal(inode_of(project, names[i]), 0);
		assert_int_equal(inode_of(store, kept), 0);
	}
	(void)close(project);
}

static size_t count_kept(void)
{
	struct stat st;

	assert_int_equal(fstat(store, &st), 0);
	return st.st_nlink - 2;
}

static void what_nobody_uses_goes(void **state)
{
	static char path[PATH_MAX];
	int project = begin(*state);
	struct koda_op op = op_of(*state, "project/.vscode");

	(void)snprintf(path, sizeof(path), "%s", koda_in(*state, "state/koda/directories"));
	assert_int_equal(stage2_placeholder_make(project, ".vscode", &op), 0);
	stage2_placeholder_remove(project, ".vscode", &op);
	op = op_of(*state, "project/.idea");
	assert_int_equal(stage2_placeholder_make(project, ".idea", &op), 0);
	stage2_placeholder_remove(project, ".idea", &op);
	if (count_kept() != 2)
		skip(); /* a file system that does not count them */
	stage2_store_sweep(path, 1);
	assert_int_equal(count_kept(), 2);
	later = STORED_SECONDS + 60;
	stage2_store_sweep(path, 0); /* no time left */
	assert_int_equal(count_kept(), 2);
	stage2_store_sweep(path, 1);
	later = 0;
	assert_int_equal(count_kept(), 0);
	(void)close(project);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		KODA_SCRATCH_TEST(a_directory_comes_back_to_where_it_was),
		KODA_SCRATCH_TEST(a_new_directory_of_the_same_name_gets_nothing),
		KODA_SCRATCH_TEST(what_is_put_in_stays),
		KODA_SCRATCH_TEST(where_nothing_can_be_kept_it_is_removed),
		KODA_SCRATCH_TEST(what_is_made_inherits_from_the_directory),
		KODA_SCRATCH_TEST(a_link_in_the_store_is_not_followed),
		KODA_SCRATCH_TEST(what_is_exchanged_while_it_is_moved_is_never_taken),
		KODA_SCRATCH_TEST(a_directory_that_is_the_users_goes_back_as_it_is),
		KODA_SCRATCH_TEST(what_was_filled_in_the_store_does_not_come_back),
		KODA_SCRATCH_TEST(what_nobody_uses_goes),
	};

	(void)umask(0);
	return KODA_TEST_RUN(tests);
}
