/* SPDX-License-Identifier: MIT */
/* Loading a site: roots, directories, PATH (T-05). T-06 is in test_site_links.c. */
#include "koda_test.h"

#include "../lib/child.h"
#include "../lib/scratch.h"
#include "run/project/site.h"

/* One NAME=VALUE below the scratch directory, in one of eight buffers used in turn. */
static const char *entry(const char *name, const char *dir, const char *below)
{
	static char entries[8][2 * PATH_MAX];
	static unsigned int turn;
	char *text = entries[turn++ % 8];

	(void)snprintf(text, sizeof(entries[0]), "%s=%s%s", name, dir, below);
	return text;
}

static bool has(const char *const *list, const char *path)
{
	for (; list && *list; list++)
		if (strcmp(*list, path) == 0)
			return true;
	return false;
}

/* HOME is home/user, koda's run-time state below run, its other state below xdg. */
static const struct {
	const char *root; /* below the scratch directory unless absolute is set */
	bool absolute;
	bool allowed;
} roots[] = {
	{ "/", true, false },
	{ "//", true, false },
	{ "/proc/self/root", true, false }, /* a link to / */
	{ "/tmp", true, false },
	{ "/tmp/", true, false },
	{ "/var/tmp", true, false },
	{ "/usr", true, false },
	{ "/tmp/koda-no-such-project", true, true },
	{ "/etc", true, false },
	{ "/etc/koda-no-such-project", true, false },
	{ "/etcetera/project", true, true },
	{ "/bin", true, false },
	{ "/usr/bin/project", true, false },
	{ "/usr/binary/project", true, true },
	{ "/proc/self", true, false },
	{ "/dev/shm/project", true, false },
	{ "/sys/kernel", true, false },
	{ "home", false, false }, /* the parent of HOME */
	{ "home/user", false, false },
	{ "home/user/", false, false },
	{ "home/user/x/..", false, false },
	{ "to-home", false, false }, /* a link to HOME */
	{ "home/user/project", false, true },
	{ "home/username", false, true },
	{ "home/other", false, true },
	{ "home/user/.config", false, false },
	{ "home/user/.config/koda", false, false },
	{ "home/user/.config/koda/db", false, false },
	{ "home/user/.config/kodak", false, true },
	{ "home/user/.config/koda/db2", false, true },
	{ "home/user/.local/state", false, false },
	{ "home/user/.local/state/koda", false, false },
	{ "home/user/.local/state/other", false, true },
	{ "run", false, false },
	{ "run/koda", false, false },
	{ "run/other", false, true },
	{ "xdg", false, false },
	{ "xdg/config", false, false },
	{ "xdg/config/koda", false, false },
	{ "xdg/config/other", false, true },
	{ "xdg/state", false, false },
	{ "xdg/state/koda", false, false },
	{ "xdg/state/other", false, true },
};

static void roots_that_hand_over_the_machine_are_refused(void **state)
{
	const char *const env[] = { entry("HOME", *state, "/home/user"),
				    entry("XDG_CONFIG_HOME", *state, "/xdg/config"),
				    entry("XDG_STATE_HOME", *state, "/xdg/state"),
				    entry("XDG_RUNTIME_DIR", *state, "/run"), NULL };

	(void)koda_make_link(*state, "to-home", "home/user");
	KODA_EACH(row, roots) {
		koda_auto_site struct koda_site site = KODA_SITE_INIT;
		struct koda_error err = { 0 };
		const char *root = row->absolute ? row->root : koda_in(*state, row->root);
		int r = koda_site_load(&site, root, env, &err);

		KODA_EXPECT(row->root, r == (row->allowed ? KODA_OK : KODA_E_DENIED));
		KODA_EXPECT(row->root, err.code == r);
		KODA_EXPECT(row->root, row->allowed || strstr(err.message, "project root"));
	}
}

/* A missing variable must not take a protection away: the system's own answers stand in. */
static void what_the_environment_does_not_say_comes_from_the_system(void **state)
{
	static const char *const none[] = { NULL };
	static const char *const useless[] = {
		"HOME=",
		"XDG_CONFIG_HOME=x",
		"XDG_STATE_HOME=./x",
		"XDG_RUNTIME_DIR",
		"HOMER=/x",
		"PATH=",
		NULL,
	};
	static const char *const *const nothing[] = { NULL, none, useless };

	KODA_EACH(env, nothing) {
		koda_auto_site struct koda_site site = KODA_SITE_INIT;
		struct koda_error err = { 0 };
		struct koda_place place;

		KODA_ASSERT_OK(koda_site_load(&site, koda_in(*state, "project"), *env, &err), err);
		place = koda_site_place(&site);
		assert_string_equal(place.root, koda_in(*state, "project"));
		/* The users of this test are in the table. */
		assert_true(place.home && place.home[0] == '/');
		assert_null(place.config_home);
		assert_null(place.state_home);
		assert_true(strncmp(place.runtime_dir, "/run/user/", 10) == 0);
		assert_true(has(place.exec_dirs, "/usr/bin"));
		assert_true(!place.git_dirs || !place.git_dirs[0]);
	}
}

static void directories_are_known_by_where_they_really_are(void **state)
{
	const char *const env[] = { entry("HOME", *state, "/alias/user"),
				    entry("XDG_CONFIG_HOME", *state, "/alias/config/"),
				    entry("XDG_STATE_HOME", *state, "/alias/../state"),
				    entry("XDG_RUNTIME_DIR", *state, "/alias/run"), NULL };
	koda_auto_site struct koda_site site = KODA_SITE_INIT;
	struct koda_error err = { 0 };

	(void)koda_make_dir(*state, "deep");
	(void)koda_make_dir(*state, "deep/real");
	(void)koda_make_link(*state, "alias", "deep/real");
	KODA_ASSERT_OK(koda_site_load(&site, koda_in(*state, "alias/project"), env, &err), err);
	assert_string_equal(site.root, koda_in(*state, "deep/real/project"));
	assert_string_equal(site.home, koda_in(*state, "deep/real/user"));
	assert_string_equal(site.config_home, koda_in(*state, "deep/real/config"));
	assert_string_equal(site.state_home, koda_in(*state, "deep/state"));
	assert_string_equal(site.runtime_dir, koda_in(*state, "deep/real/run"));
}

static int load_from_inside(void *dir)
{
	struct koda_site site = KODA_SITE_INIT;

	KODA_CHILD_CHECK(chdir(koda_make_dir(dir, "project")) == 0);
	KODA_CHILD_CHECK(koda_site_load(&site, NULL, NULL, NULL) == KODA_OK);
	KODA_CHILD_CHECK(strcmp(site.root, koda_in(dir, "project")) == 0);
	koda_site_clear(&site);
	KODA_CHILD_CHECK(koda_site_load(&site, "sub/..//x", NULL, NULL) == KODA_OK);
	KODA_CHILD_CHECK(strcmp(site.root, koda_in(dir, "project/x")) == 0);
	koda_site_clear(&site);
	return 0;
}

static void the_root_defaults_to_the_working_directory(void **state)
{
	assert_int_equal(koda_child_run(load_from_inside, *state), 0);
}

static void a_root_or_directory_that_loops_is_an_error(void **state)
{
	const char *const env[] = { entry("HOME", *state, "/loop"), NULL };
	koda_auto_site struct koda_site site = KODA_SITE_INIT;
	struct koda_error err = { 0 };

	(void)koda_make_link(*state, "loop", "loop");
	KODA_ASSERT_FAILS(KODA_E_SYS, koda_site_load(&site, koda_in(*state, "loop"), NULL, &err),
			  err);
	koda_site_clear(&site);
	KODA_ASSERT_FAILS(KODA_E_SYS, koda_site_load(&site, koda_in(*state, "x"), env, &err), err);
	assert_int_equal(strncmp(err.message, "HOME: ", 6), 0);
}

static void clearing_twice_is_fine(void **state)
{
	const char *const env[] = { "HOME=/home/user", "PATH=/usr/bin", NULL };
	struct koda_site site = KODA_SITE_INIT;
	struct koda_error err = { 0 };

	KODA_ASSERT_OK(koda_site_load(&site, koda_in(*state, "x"), env, &err), err);
	koda_site_clear(&site);
	koda_site_clear(&site);
	assert_null(site.root);
	assert_int_equal(site.exec_dirs.len, 0);
}

/* Fills text with "PATH=" and list, every '@' replaced by dir. */
static void put_path(struct koda_buf *text, const char *list, const char *dir)
{
	int r = koda_buf_addf(text, "PATH=");

	for (; *list && r == KODA_OK; list++)
		r = *list == '@' ? koda_buf_addf(text, "%s", dir) : koda_buf_add(text, list, 1);
	assert_int_equal(r, KODA_OK);
}

/* T-05: a and b are directories, to-b a link to b, sub/deep/ has a link beside it. */
static void every_place_where_programs_are_found_is_known(void **state)
{
	static const struct {
		const char *name;
		const char *path; /* '@' is the scratch directory */
		const char *known[4];
	} rows[] = {
		{ "one", "@/a", { "a" } },
		{ "two", "@/a:@/b", { "a", "b" } },
		{ "first relative", "bin:@/a", { "a" } },
		{ "relative ignored", "@/a:bin:./bin:../bin:.", { "a" } },
		{ "empty ignored", ":@/a::@/b:", { "a", "b" } },
		{ "twice", "@/a:@/a:@/a/", { "a" } },
		{ "link", "@/to-b", { "to-b", "b" } },
		{ "link to a link", "@/to-to-b", { "to-to-b", "to-b", "b" } },
		{ "absent", "@/no/such", { "no/such" } },
		{ "dots", "@/./a/../b/", { "b" } },
		{ "up from a link", "@/to-deep/../bin", { "sub/bin" } },
		{ "not a list", "relative", { NULL } },
	};

	(void)koda_make_dir(*state, "a");
	(void)koda_make_dir(*state, "b");
	(void)koda_make_dir(*state, "sub");
	(void)koda_make_dir(*state, "sub/bin");
	(void)koda_make_dir(*state, "sub/deep");
	(void)koda_make_link(*state, "to-b", "b");
	(void)koda_make_link(*state, "to-to-b", "to-b");
	(void)koda_make_link(*state, "to-deep", "sub/deep");
	KODA_EACH(row, rows) {
		koda_auto_site struct koda_site site = KODA_SITE_INIT;
		koda_auto_buf struct koda_buf text = KODA_BUF_INIT(SIZE_MAX / 2);
		const char *env[] = { "OTHER=x", NULL, "PATH=/ignored/second", NULL };
		struct koda_error err = { 0 };
		struct koda_place place;

		put_path(&text, row->path, *state);
		env[1] = text.ptr;
		KODA_ASSERT_OK(koda_site_load(&site, koda_in(*state, "x"), env, &err), err);
		place = koda_site_place(&site);
		for (size_t i = 0; i < 4 && row->known[i]; i++)
			KODA_EXPECT(row->name,
				    has(place.exec_dirs, koda_in(*state, row->known[i])));
		KODA_EXPECT(row->name, !has(place.exec_dirs, "/ignored/second"));
		for (size_t i = 0; i < site.exec_dirs.len; i++) {
			KODA_EXPECT(row->name, site.exec_dirs.items[i][0] == '/');
			for (size_t k = 0; k < i; k++)
				KODA_EXPECT(row->name, strcmp(site.exec_dirs.items[i],
							      site.exec_dirs.items[k]) != 0);
		}
	}
}

static void a_loop_in_path_is_an_error(void **state)
{
	const char *const env[] = { entry("PATH", *state, "/loop"), NULL };
	koda_auto_site struct koda_site site = KODA_SITE_INIT;
	struct koda_error err = { 0 };

	(void)koda_make_link(*state, "loop", "loop");
	KODA_ASSERT_FAILS(KODA_E_SYS, koda_site_load(&site, koda_in(*state, "x"), env, &err), err);
	assert_int_equal(err.sys_errno, ELOOP);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		KODA_SCRATCH_TEST(roots_that_hand_over_the_machine_are_refused),
		KODA_SCRATCH_TEST(what_the_environment_does_not_say_comes_from_the_system),
		KODA_SCRATCH_TEST(directories_are_known_by_where_they_really_are),
		KODA_SCRATCH_TEST(the_root_defaults_to_the_working_directory),
		KODA_SCRATCH_TEST(a_root_or_directory_that_loops_is_an_error),
		KODA_SCRATCH_TEST(clearing_twice_is_fine),
		KODA_SCRATCH_TEST(every_place_where_programs_are_found_is_known),
		KODA_SCRATCH_TEST(a_loop_in_path_is_an_error),
	};

	return KODA_TEST_RUN(tests);
}
