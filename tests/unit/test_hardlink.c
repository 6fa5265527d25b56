/* SPDX-License-Identifier: MIT */
/* T-42. Which files have another name that has to be looked for. */
#include "../lib/scratch.h"

#include "run/hardlink.h"

static bool is_shared(const char *dir, const char *name)
{
	struct stat st;

	assert_int_equal(lstat(koda_in(dir, name), &st), 0);
	return koda_hardlink_is_shared(AT_FDCWD, koda_in(dir, name), &st);
}

static void a_second_name_is_one(void **state)
{
	const char *file = koda_make_file(*state, "config", "");

	assert_false(is_shared(*state, "config"));
	assert_int_equal(mkdir(koda_in(*state, "hooks"), 0755), 0);
	assert_false(is_shared(*state, "hooks"));
	assert_int_equal(link(file, koda_in(*state, "hooks/pre-commit")), 0);
	assert_true(is_shared(*state, "config"));
	assert_true(is_shared(*state, "hooks"));
}

/* Runs in one project share placeholders, which have names of each other. */
static void placeholders_are_no_files(void **state)
{
	static const struct {
		const char *name;
		const char *contents;
		mode_t mode;
		bool shared;
	} files[] = {
		{ "placeholder", "", 0444, false },
		{ "writable", "", 0644, true },
		{ "full", "x", 0444, true },
	};

	KODA_EACH(file, files) {
		const char *path = koda_make_file(*state, file->name, file->contents);
		char other[64];

		(void)snprintf(other, sizeof(other), "%s-too", file->name);
		assert_int_equal(chmod(path, file->mode), 0);
		assert_int_equal(link(path, koda_in(*state, other)), 0);
		KODA_EXPECT(file->name, is_shared(*state, file->name) == file->shared);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		KODA_SCRATCH_TEST(a_second_name_is_one),
		KODA_SCRATCH_TEST(placeholders_are_no_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
