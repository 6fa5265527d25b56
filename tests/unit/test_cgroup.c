/* SPDX-License-Identifier: MIT */
/* T-31 where a control group can be made, in a hierarchy made of files. */
#include "koda_test.h"

#include "../lib/scratch.h"
#include "run/backend/cgroup.h"

#define ALL "cpu memory pids\n"

static void put(const char *dir, const char *name, const char *text)
{
	int fd = open(koda_in(dir, name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	assert_int_equal(close(fd), 0);
}

/* A group: what it passes on to its children. */
static void group(const char *dir, const char *name, const char *passed_on)
{
	const char *path = koda_in(dir, name);

	if (mkdir(path, 0755) < 0)
		assert_int_equal(errno, EEXIST);
	put(path, "cgroup.controllers", ALL);
	put(path, "cgroup.subtree_control", passed_on);
	put(path, "cgroup.procs", "");
}

/* The group found for a process in own, relative to the mount; "-" for none. */
static void expect(const char *dir, const char *own, const char *want)
{
	koda_auto_free char *found = NULL;
	struct koda_error err = { 0 };

	put(dir, "self", own);
	KODA_ASSERT_OK(koda_cgroup_find(koda_in(dir, "mount"), koda_in(dir, "self"), &found, &err),
		       err);
	if (strcmp(want, "-") == 0) {
		if (found)
			fail_msg("%s: found %s", own, found);
		return;
	}
	assert_non_null(found);
	assert_string_equal(found, koda_in(dir, want));
}

static void the_nearest_that_passes_on_is_found(void **state)
{
	group(*state, "mount", ALL);
	group(*state, "mount/user", ALL);
	group(*state, "mount/user/app", ALL);
	group(*state, "mount/user/app/scope", "");
	expect(*state, "4:memory:/x\n0::/user/app/scope\n", "mount/user/app");
	expect(*state, "0::/user\n", "mount/user");
	expect(*state, "0::/\n", "mount");
	/* Only one of the two, or something that looks like them. */
	group(*state, "mount/user/app", "memory\n");
	expect(*state, "0::/user/app/scope\n", "mount/user");
	group(*state, "mount/user/app", "memoryx xpids pids\n");
	expect(*state, "0::/user/app/scope\n", "mount/user");
}

static void nothing_to_use(void **state)
{
	expect(*state, "0::/\n", "-"); /* no hierarchy */
	group(*state, "mount", "");
	group(*state, "mount/a", "");
	expect(*state, "0::/a\n", "-"); /* nobody passes anything on */
	group(*state, "mount", ALL);
	expect(*state, "", "-");
	expect(*state, "1:name=systemd:/a\n", "-");
	expect(*state, "0::/../elsewhere\n", "-"); /* outside our namespace's */
	put(koda_in(*state, "mount"), "cgroup.controllers", "hugetlb\n");
	expect(*state, "0::/a\n", "-"); /* memory is with version 1 */
}

static void what_cannot_be_written_is_passed_over(void **state)
{
	group(*state, "mount", ALL);
	group(*state, "mount/a", ALL);
	expect(*state, "0::/a\n", "mount/a");
	/* Nobody can write to a directory, not even root. */
	assert_int_equal(unlink(koda_in(*state, "mount/a/cgroup.procs")), 0);
	(void)koda_make_dir(*state, "mount/a/cgroup.procs");
	expect(*state, "0::/a\n", "mount");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		KODA_SCRATCH_TEST(the_nearest_that_passes_on_is_found),
		KODA_SCRATCH_TEST(nothing_to_use),
		KODA_SCRATCH_TEST(what_cannot_be_written_is_passed_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
