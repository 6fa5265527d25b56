/* SPDX-License-Identifier: MIT */
/* Paths that start at the working directory: folded by spelling, or followed as the kernel would.
 */
#include "koda_test.h"

#include "../lib/child.h"
#include "../lib/scratch.h"
#include "base/path.h"

static int make_absolute_inside(void *dir)
{
	static const struct {
		const char *path;
		const char *suffix;
	} rows[] = {
		{ "x", "/sub/x" }, { "./x/", "/sub/x" }, { ".", "/sub" },
		{ "..", "" },      { "../y", "/y" },     { "link/../z", "/sub/z" },
	};

	KODA_CHILD_CHECK(chdir(koda_make_dir(dir, "sub")) == 0);
	KODA_EACH(row, rows) {
		char want[PATH_MAX];
		char *path = NULL;

		(void)snprintf(want, sizeof(want), "%s%s", (char *)dir, row->suffix);
		KODA_CHILD_CHECK(koda_path_absolute(row->path, &path, NULL) == KODA_OK);
		KODA_CHILD_CHECK(strcmp(path, want) == 0);
		free(path);
	}
	return 0;
}

static void absolute_starts_at_the_working_directory(void **state)
{
	assert_int_equal(koda_child_run(make_absolute_inside, *state), 0);
}

static int make_absolute_nowhere(void *dir)
{
	const char *gone = koda_make_dir(dir, "gone");
	struct koda_error err = { 0 };
	char *path = NULL;

	KODA_CHILD_CHECK(chdir(gone) == 0 && rmdir(gone) == 0);
	KODA_CHILD_CHECK(koda_path_absolute("x", &path, &err) == KODA_E_SYS);
	KODA_CHILD_CHECK(err.sys_errno == ENOENT && !path);
	KODA_CHILD_CHECK(koda_path_absolute("/x", &path, &err) == KODA_OK);
	free(path);
	return 0;
}

static void a_working_directory_that_is_gone_matters_only_to_relative_paths(void **state)
{
	assert_int_equal(koda_child_run(make_absolute_nowhere, *state), 0);
}

static int refuse_the_deep(void *arg)
{
	struct koda_error err = { 0 };
	char *path = NULL;

	(void)arg;
	KODA_CHILD_CHECK(koda_path_absolute("x", &path, &err) == KODA_E_LIMIT);
	KODA_CHILD_CHECK(err.code == KODA_E_LIMIT && err.message[0] && !path);
	err = (struct koda_error){ 0 };
	KODA_CHILD_CHECK(koda_path_resolve("x", &path, &err) == KODA_E_LIMIT);
	KODA_CHILD_CHECK(err.code == KODA_E_LIMIT && err.message[0] && !path);
	return 0;
}

/* Seventeen directories with long names inside each other: more than a path may have. */
static int refuse_in_the_deep(void *dir)
{
	char name[KODA_NAME_MAX + 1] = "";
	int depth;
	int r;

	memset(name, 'd', sizeof(name) - 1);
	KODA_CHILD_CHECK(chdir(dir) == 0);
	for (depth = 0; depth < 17; depth++)
		KODA_CHILD_CHECK(mkdir(name, 0700) == 0 && chdir(name) == 0);
	r = refuse_the_deep(NULL);
	for (; depth > 0; depth--)
		KODA_CHILD_CHECK(chdir("..") == 0 && rmdir(name) == 0);
	return r;
}

static void a_working_directory_that_is_too_deep_is_refused(void **state)
{
	assert_int_equal(koda_child_run(refuse_in_the_deep, *state), 0);
}

/* Unlike koda_path_absolute, ".." goes up from where a link led. */
static int resolve_inside(void *dir)
{
	static const struct {
		const char *path;
		const char *target;
	} rows[] = {
		{ ".", "work" },      { "x", "work/x" },        { "link", "far/away" },
		{ "link/..", "far" }, { "link/../x", "far/x" }, { "../work/./x", "work/x" },
	};

	KODA_CHILD_CHECK(chdir(koda_make_dir(dir, "work")) == 0);
	(void)koda_make_dir(dir, "far");
	(void)koda_make_dir(dir, "far/away");
	(void)koda_make_link(dir, "work/link", "../far/away");
	KODA_EACH(row, rows) {
		char *path = NULL;

		KODA_CHILD_CHECK(koda_path_resolve(row->path, &path, NULL) == KODA_OK);
		KODA_CHILD_CHECK(strcmp(path, koda_in(dir, row->target)) == 0);
		free(path);
	}
	return 0;
}

static void a_relative_path_resolves_from_the_working_directory(void **state)
{
	struct koda_error err = { 0 };
	char *path = NULL;

	assert_int_equal(koda_child_run(resolve_inside, *state), 0);
	KODA_ASSERT_FAILS(KODA_E_INVALID, koda_path_resolve("", &path, &err), err);
	assert_null(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		KODA_SCRATCH_TEST(absolute_starts_at_the_working_directory),
		KODA_SCRATCH_TEST(a_working_directory_that_is_gone_matters_only_to_relative_paths),
		KODA_SCRATCH_TEST(a_working_directory_that_is_too_deep_is_refused),
		KODA_SCRATCH_TEST(a_relative_path_resolves_from_the_working_directory),
	};

	return KODA_TEST_RUN(tests);
}
