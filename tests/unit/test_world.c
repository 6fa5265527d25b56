/* SPDX-License-Identifier: MIT */
/* The file system as the planner sees it: what is at a path, repositories, sockets. */
#include "koda_test.h"

#include "../lib/child.h"
#include "../lib/scratch.h"
#include "base/str.h"
#include "run/world.h"
#include "wire/hold.h"

#include <sys/socket.h>
#include <sys/un.h>
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

static struct found scan(const char *root, unsigned int depth)
{
	struct found found = { KODA_STRV_INIT, KODA_STRV_INIT, KODA_STRV_INIT };
	const struct koda_found lists = { &found.dirs, &found.files, &found.closed };
	struct koda_error err = { 0 };

	KODA_ASSERT_OK(koda_world_scan(root, depth, &lists, &err), err);
	return found;
}

static void clear(struct found *found)
{
	koda_strv_clear(&found->dirs);
	koda_strv_clear(&found->files);
	koda_strv_clear(&found->closed);
	koda_strv_clear(&found->closed);
}

static void a_look_tells_what_is_there(void **state)
{
	static const struct {
		const char *name;
		enum koda_thing want;
	} rows[] = {
		{ "dir", KODA_THING_DIR },      { "file", KODA_THING_OTHER },
		{ "link", KODA_THING_LINK },    { "dangling", KODA_THING_LINK },
		{ "none", KODA_THING_MISSING }, { "file/below", KODA_THING_MISSING },
		{ "fifo", KODA_THING_OTHER },   { "held", KODA_THING_MISSING },
	};
	struct koda_error err = { 0 };
	struct koda_look look;

	(void)koda_make_dir(*state, "dir");
	(void)koda_make_file(*state, "file", "");
	(void)koda_make_link(*state, "link", "dir");
	(void)koda_make_link(*state, "dangling", "nowhere");
	assert_int_equal(mkfifo(koda_in(*state, "fifo"), 0600), 0);
	assert_int_equal(mknod(koda_in(*state, "held"), KODA_HOLD_NODE, 0), 0);
	KODA_EACH(row, rows) {
		struct stat st;

		KODA_ASSERT_OK(koda_world_here.look(koda_world_here.ctx, koda_in(*state, row->name),
						    &look, &err),
			       err);
		KODA_EXPECT(row->name, look.thing == row->want);
		if (row->want != KODA_THING_MISSING) {
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

static uint64_t now_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

/* Where the file system counts subdirectories, files cost nothing. */
static void files_are_not_looked_at(void **state)
{
	struct found found;
	struct stat st;
	uint64_t start;
	uint64_t empty;
	uint64_t full;
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
	start = now_ns();
	for (int i = 0; i < 20; i++) {
		found = scan(koda_in(*state, "empty"), 3);
		clear(&found);
	}
	empty = now_ns() - start;
	start = now_ns();
	for (int i = 0; i < 20; i++) {
		found = scan(koda_in(*state, "full"), 3);
		clear(&found);
	}
	full = now_ns() - start;
	/* Reading 10,000 names takes a thousand times as long; noise does not. */
	assert_true(full < 20 * empty + 20000000U);
}

/* The owner can open what is closed, so the command could. Root sees it anyway. */
static int scan_closed(void *dir)
{
	struct koda_strv dirs = KODA_STRV_INIT;
	struct koda_strv files = KODA_STRV_INIT;
	struct koda_strv closed = KODA_STRV_INIT;
	const struct koda_found lists = { &dirs, &files, &closed };
	int r;
	bool seen;

	KODA_CHILD_CHECK(koda_child_drop_root());
	KODA_CHILD_CHECK(mkdir(koda_in(dir, "n"), 0755) == 0);
	KODA_CHILD_CHECK(mkdir(koda_in(dir, "n/.git"), 0755) == 0);
	KODA_CHILD_CHECK(chmod(koda_in(dir, "n"), 0311) == 0);
	r = koda_world_scan(dir, 3, &lists, NULL);
	seen = koda_strv_has(&dirs, koda_in(dir, "n/.git")) ||
	       koda_strv_has(&closed, koda_in(dir, "n"));
	koda_strv_clear(&dirs);
	koda_strv_clear(&files);
	koda_strv_clear(&closed);
	(void)chmod(koda_in(dir, "n"), 0755);
	KODA_CHILD_CHECK(r < 0 || seen);
	return 0;
}

static void a_closed_directory_is_not_passed_over(void **state)
{
	assert_int_equal(chmod(*state, 0777), 0);
	assert_int_equal(koda_child_run(scan_closed, *state), 0);
}

static int listen_at(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(strlen(path) < sizeof(address.sun_path));
	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(fd, 1), 0);
	return fd;
}

static void sockets_are_listed_once(void **state)
{
	static const char *const names[] = { "plain", "with space", "utf-\xc3\xbc" };
	koda_auto_strv struct koda_strv found = KODA_STRV_INIT;
	struct koda_error err = { 0 };
	int fds[3];

	for (size_t i = 0; i < 3; i++)
		fds[i] = listen_at(koda_in(*state, names[i]));
	KODA_ASSERT_OK(koda_world_sockets(&found, &err), err);
	KODA_ASSERT_OK(koda_world_sockets(&found, &err), err);
	for (size_t i = 0; i < 3; i++) {
		unsigned int seen = 0;

		for (size_t k = 0; k < found.len; k++)
			seen += strcmp(found.items[k], koda_in(*state, names[i])) == 0;
		KODA_EXPECT(names[i], seen == 1);
		(void)close(fds[i]);
	}
	for (size_t k = 0; k < found.len; k++)
		assert_int_equal(found.items[k][0], '/');
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		KODA_SCRATCH_TEST(a_look_tells_what_is_there),
		KODA_SCRATCH_TEST(repositories_are_found_down_to_the_depth),
		KODA_SCRATCH_TEST(pointers_and_links_are_files),
		KODA_SCRATCH_TEST(submodules_and_worktrees_have_git_directories),
		KODA_SCRATCH_TEST(files_are_not_looked_at),
		KODA_SCRATCH_TEST(a_closed_directory_is_not_passed_over),
		KODA_SCRATCH_TEST(sockets_are_listed_once),
	};

	return KODA_TEST_RUN(tests);
}
