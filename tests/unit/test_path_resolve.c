/* SPDX-License-Identifier: MIT */
/* Where a path leads: symbolic links as the kernel follows them. */
#include "koda_test.h"

#include "../lib/child.h"
#include "../lib/scratch.h"
#include "base/path.h"
#include "base/strv.h"

/* What path resolves to, owned by the caller; fails the test if it does not. */
static char *resolved(const char *path)
{
	struct koda_error err = { 0 };
	char *out = NULL;

	KODA_ASSERT_OK(koda_path_resolve(path, &out, &err), err);
	return out;
}

static void a_path_without_links_stands_as_spelt(void **state)
{
	koda_auto_free char *file = resolved(koda_make_file(*state, "file", ""));
	koda_auto_free char *absent = resolved(koda_in(*state, "no/such/path"));
	koda_auto_free char *root = resolved("/");

	assert_string_equal(file, koda_in(*state, "file"));
	assert_string_equal(absent, koda_in(*state, "no/such/path"));
	assert_string_equal(root, "/");
}

/* dir/file, dir/deep/inner/, and links of every kind. */
static void links_lead_where_the_kernel_goes(void **state)
{
	static const struct {
		const char *path;
		const char *target;
	} rows[] = {
		{ "relative", "/dir/file" },
		{ "absolute", "/dir/file" },
		{ "to-dir/file", "/dir/file" },
		{ "to-dir/", "/dir" },
		{ "to-dir/.", "/dir" },
		{ "to-dir//./deep", "/dir/deep" },
		{ "chain", "/dir/file" },
		{ "dir/up", "/dir/file" },
		{ "dir/deep/updown", "/dir/file" },
		{ "to-inner/..", "/dir/deep" },
		{ "to-inner/../../file", "/dir/file" },
		{ "dir/deep/../file", "/dir/file" },
		{ "to-root/..", "" },
		{ "dir/file/..", "/dir" },
	};

	(void)koda_make_dir(*state, "dir");
	(void)koda_make_dir(*state, "dir/deep");
	(void)koda_make_dir(*state, "dir/deep/inner");
	(void)koda_make_file(*state, "dir/file", "");
	(void)koda_make_link(*state, "relative", "dir/file");
	(void)koda_make_link(*state, "absolute", koda_in(*state, "dir/file"));
	(void)koda_make_link(*state, "to-dir", "dir");
	(void)koda_make_link(*state, "to-dir-too", "./to-dir/");
	(void)koda_make_link(*state, "chain", "to-dir-too/up");
	(void)koda_make_link(*state, "dir/up", "../dir/file");
	(void)koda_make_link(*state, "dir/deep/updown", "../../to-dir/deep/.././file");
	(void)koda_make_link(*state, "to-inner", "dir/deep/inner");
	(void)koda_make_link(*state, "to-root", "/");
	KODA_EACH(row, rows) {
		koda_auto_free char *path = resolved(koda_in(*state, row->path));
		const char *want = koda_in(*state, row->target + (row->target[0] == '/'));

		KODA_EXPECT(row->path, strcmp(path, row->target[0] ? want : "/") == 0);
	}
}

static void dangling_links_are_followed_as_far_as_they_say(void **state)
{
	koda_auto_free char *plain = NULL;
	koda_auto_free char *through = NULL;
	koda_auto_free char *up = NULL;

	(void)koda_make_link(*state, "dangling", "no/such");
	(void)koda_make_link(*state, "second", "dangling");
	(void)koda_make_link(*state, "elsewhere", "/no-such-directory/x/../y");
	plain = resolved(koda_in(*state, "second"));
	through = resolved(koda_in(*state, "dangling/more"));
	up = resolved(koda_in(*state, "elsewhere"));
	assert_string_equal(plain, koda_in(*state, "no/such"));
	assert_string_equal(through, koda_in(*state, "no/such/more"));
	assert_string_equal(up, "/no-such-directory/y");
}

static void loops_are_an_error(void **state)
{
	static const char *const paths[] = { "self", "a", "b/x", "dir/back/self" };
	struct koda_error err = { 0 };

	(void)koda_make_link(*state, "self", "self");
	(void)koda_make_link(*state, "a", "b");
	(void)koda_make_link(*state, "b", "a");
	(void)koda_make_dir(*state, "dir");
	(void)koda_make_link(*state, "dir/back", "..");
	KODA_EACH(path, paths) {
		char *out = NULL;

		KODA_ASSERT_FAILS(KODA_E_SYS, koda_path_resolve(koda_in(*state, *path), &out, &err),
				  err);
		assert_int_equal(err.sys_errno, ELOOP);
		assert_null(out);
	}
}

/* Returns whether stat finds the end of a chain of links. When others rename, the kernel walks a
 * path a second time and goes on counting its links, so a chain can seem too long once. */
static bool can_stat(const char *path)
{
	struct stat st;
	int tries = 100;
	int r;

	do
		r = stat(path, &st);
	while (r < 0 && errno == ELOOP && --tries > 0);
	return r == 0;
}

/* A chain as long as the kernel follows resolves, one longer does not: the same for both. */
static void as_many_links_as_the_kernel_follows(void **state)
{
	char name[16];
	char target[16];

	(void)koda_make_file(*state, "0", "");
	for (int i = 1; i <= 41; i++) {
		(void)snprintf(name, sizeof(name), "%d", i);
		(void)snprintf(target, sizeof(target), "%d", i - 1);
		(void)koda_make_link(*state, name, target);
	}
	for (int i = 38; i <= 41; i++) {
		koda_auto_free char *path = NULL;
		int r;

		(void)snprintf(name, sizeof(name), "%d", i);
		r = koda_path_resolve(koda_in(*state, name), &path, NULL);
		assert_int_equal(r == KODA_OK, can_stat(koda_in(*state, name)));
		assert_int_equal(r == KODA_OK, i <= 40);
	}
}

static void links_that_unfold_past_the_longest_path_are_refused(void **state)
{
	koda_auto_free char *out = NULL;
	struct koda_error err = { 0 };
	char target[KODA_PATH_MAX + 1] = "";
	char path[PATH_MAX];

	for (size_t i = 0; i < KODA_PATH_MAX; i++)
		target[i] = i % 200 == 0 ? '/' : 'n';
	(void)koda_make_link(*state, "long", target);
	out = resolved(koda_in(*state, "long"));
	assert_string_equal(out, target);
	koda_free_ptr(&out);
	KODA_ASSERT_FAILS(KODA_E_LIMIT, koda_path_resolve(koda_in(*state, "long/x"), &out, &err),
			  err);
	/* Four thousand more bytes after the link: more than will ever fit. */
	(void)snprintf(path, sizeof(path), "%s/long/", (char *)*state);
	memcpy(target, path, strlen(path));
	KODA_ASSERT_FAILS(KODA_E_LIMIT, koda_path_resolve(target, &out, &err), err);
	assert_null(out);
}

static void an_over_long_path_is_refused(void **state)
{
	struct koda_error err = { 0 };
	char *text = calloc(1, 3 * KODA_PATH_MAX);
	char *out = NULL;

	(void)state;
	assert_non_null(text);
	for (size_t i = 0; i < KODA_PATH_MAX + 1; i++)
		text[i] = i % 200 == 0 ? '/' : 'n';
	KODA_ASSERT_FAILS(KODA_E_LIMIT, koda_path_resolve(text, &out, &err), err);
	memset(text, '/', 3 * KODA_PATH_MAX - 1);
	KODA_ASSERT_FAILS(KODA_E_LIMIT, koda_path_resolve(text, &out, &err), err);
	assert_null(out);
	free(text);
}

static void the_links_on_the_way_are_listed(void **state)
{
	static const struct {
		const char *path;
		const char *links[4];
	} rows[] = {
		{ "dir/file", { NULL } },
		{ "one", { "one" } },
		{ "one/../two", { "one", "two", "one" } },
		{ "two/inner", { "two", "one", "dir/inner" } },
		{ "dangling/x", { "dangling" } },
		{ "absent/x", { NULL } },
	};

	(void)koda_make_dir(*state, "dir");
	(void)koda_make_link(*state, "one", "dir");
	(void)koda_make_link(*state, "two", "./one/");
	(void)koda_make_link(*state, "dir/inner", "nowhere");
	(void)koda_make_link(*state, "dangling", "nowhere");
	KODA_EACH(row, rows) {
		koda_auto_strv struct koda_strv links = KODA_STRV_INIT;
		struct koda_error err = { 0 };
		size_t count = 0;

		koda_auto_free char *resolved = NULL;

		KODA_ASSERT_OK(koda_path_trace(koda_in(*state, row->path), &resolved, &links, &err),
			       err);
		for (; count < 4 && row->links[count]; count++)
			KODA_EXPECT(row->path,
				    count < links.len &&
					    strcmp(links.items[count],
						   koda_in(*state, row->links[count])) == 0);
		KODA_EXPECT(row->path, links.len == count);
	}
}

static int resolve_below_closed_directory(void *dir)
{
	char *path = NULL;

	KODA_CHILD_CHECK(koda_child_drop_root());
	KODA_CHILD_CHECK(koda_path_resolve(koda_in(dir, "closed/link/x"), &path, NULL) == KODA_OK);
	KODA_CHILD_CHECK(strcmp(path, koda_in(dir, "closed/link/x")) == 0);
	free(path);
	return 0;
}

static void what_may_not_be_looked_at_stands_as_spelt(void **state)
{
	koda_auto_free char *open_ = NULL;

	(void)koda_make_dir(*state, "closed");
	(void)koda_make_link(*state, "closed/link", "elsewhere");
	assert_int_equal(chmod(*state, 0755), 0);
	open_ = resolved(koda_in(*state, "closed/link/x"));
	assert_string_equal(open_, koda_in(*state, "closed/elsewhere/x"));
	assert_int_equal(chmod(koda_in(*state, "closed"), 0), 0);
	assert_int_equal(koda_child_run(resolve_below_closed_directory, *state), 0);
	assert_int_equal(chmod(koda_in(*state, "closed"), 0700), 0);
}

static void resolve_agrees_with_the_kernel_on_random_trees(void **state)
{
	static const char *const parts[] = { "a", "b", "a", "b", "..", ".", "", "c" };
	struct koda_rng rng = koda_rng_new();
	char text[64];

	(void)koda_make_dir(*state, "a");
	(void)koda_make_dir(*state, "a/a");
	(void)koda_make_dir(*state, "a/b");
	(void)koda_make_dir(*state, "b");
	(void)koda_make_link(*state, "b/a", "../a/b");
	(void)koda_make_link(*state, "b/b", "..");
	(void)koda_make_link(*state, "a/a/a", *state);
	(void)koda_make_link(*state, "a/a/b", "a/b/../b/a");
	(void)koda_make_link(*state, "c", "a/a/b/b");
	for (int round = 0; round < 3000; round++) {
		koda_auto_free char *ours = NULL;
		char theirs[PATH_MAX];
		size_t used = 0;
		int r;

		for (size_t i = koda_rng_below(&rng, 8); i > 0; i--)
			used += (size_t)snprintf(text + used, sizeof(text) - used, "%s/",
						 parts[koda_rng_below(&rng, 8)]);
		text[used] = '\0';
		r = koda_path_resolve(koda_in(*state, text), &ours, NULL);
		if (!realpath(koda_in(*state, text), theirs)) {
			assert_int_equal(r == KODA_E_SYS, errno == ELOOP);
			continue;
		}
		assert_int_equal(r, KODA_OK);
		assert_string_equal(ours, theirs);
	}
}

/* Another user's process: its root may not be looked at, and can be anything. */
static int resolve_a_foreign_root(void *arg)
{
	struct koda_error err = { 0 };
	char *path = NULL;

	(void)arg;
	KODA_CHILD_CHECK(koda_child_drop_root() == 1);
	KODA_CHILD_CHECK(koda_path_resolve("/proc/1/root/etc", &path, &err) == KODA_E_SYS);
	KODA_CHILD_CHECK(path == NULL && err.sys_errno == EACCES);
	/* The twin: one's own is known. */
	KODA_CHILD_CHECK(koda_path_resolve("/proc/self/root/etc", &path, &err) == KODA_OK);
	KODA_CHILD_CHECK(strcmp(path, "/etc") == 0);
	free(path);
	return 0;
}

static void a_link_of_proc_that_may_not_be_read_is_an_error(void **state)
{
	(void)state;
	assert_int_equal(koda_child_run(resolve_a_foreign_root, NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		KODA_SCRATCH_TEST(a_path_without_links_stands_as_spelt),
		KODA_SCRATCH_TEST(links_lead_where_the_kernel_goes),
		KODA_SCRATCH_TEST(dangling_links_are_followed_as_far_as_they_say),
		KODA_SCRATCH_TEST(loops_are_an_error),
		KODA_SCRATCH_TEST(as_many_links_as_the_kernel_follows),
		KODA_SCRATCH_TEST(links_that_unfold_past_the_longest_path_are_refused),
		cmocka_unit_test(an_over_long_path_is_refused),
		cmocka_unit_test(a_link_of_proc_that_may_not_be_read_is_an_error),
		KODA_SCRATCH_TEST(the_links_on_the_way_are_listed),
		KODA_SCRATCH_TEST(what_may_not_be_looked_at_stands_as_spelt),
		KODA_SCRATCH_TEST(resolve_agrees_with_the_kernel_on_random_trees),
	};

	return KODA_TEST_RUN(tests);
}
