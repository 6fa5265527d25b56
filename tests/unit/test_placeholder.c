/* SPDX-License-Identifier: MIT */
/* What counts as a placeholder, and what is the user's own. */
#include "koda_test.h"

#include "../lib/scratch.h"
#include "wire/placeholder.h"

#include <fcntl.h>
#include <time.h>

static void set_time(const char *dir, const char *name, time_t seconds)
{
	const struct timespec times[] = { { .tv_nsec = UTIME_OMIT }, { .tv_sec = seconds } };

	assert_int_equal(utimensat(AT_FDCWD, koda_in(dir, name), times, 0), 0);
}

static void make_dir(const char *dir, const char *name, mode_t mode)
{
	assert_int_equal(mkdir(koda_in(dir, name), 0700), 0);
	assert_int_equal(chmod(koda_in(dir, name), mode), 0);
}

static void make_ignore(const char *dir, const char *name, const char *text, mode_t mode)
{
	(void)koda_make_file(dir, name, text);
	assert_int_equal(chmod(koda_in(dir, name), mode), 0);
}

static void a_mark_and_no_contents_make_a_placeholder(void **state)
{
	static const struct {
		const char *name;
		bool want;
	} rows[] = {
		{ "marked", true },   { "ignored", true },    { "making", true },
		{ "inherits", true }, { "node", true },       { "own", false },
		{ "used", false },    { "tracked", false },   { "written", false },
		{ "filled", false },  { "sticky", false },    { "file", false },
		{ "link", false },    { "neighbour", false },
	};

	make_dir(*state, "marked", 0755);
	make_dir(*state, "ignored", 0755);
	make_ignore(*state, "ignored/.gitignore", KODA_PLACEHOLDER_IGNORE_TEXT,
		    KODA_PLACEHOLDER_FILE_MODE);
	make_dir(*state, "making", KODA_PLACEHOLDER_MAKING);
	make_dir(*state, "inherits", KODA_PLACEHOLDER_MAKING | S_ISGID);
	assert_int_equal(mknod(koda_in(*state, "node"), S_IFSOCK, 0), 0);
	make_dir(*state, "own", 0755);
	/* Forged: times can be set by whoever owns the directory. */
	make_dir(*state, "used", 0755);
	(void)koda_make_file(*state, "used/file", "");
	make_dir(*state, "tracked", 0755);
	(void)koda_make_file(*state, "tracked/.gitignore", "*\n");
	make_dir(*state, "written", 0755);
	make_ignore(*state, "written/.gitignore", KODA_PLACEHOLDER_IGNORE_TEXT "more\n",
		    KODA_PLACEHOLDER_FILE_MODE);
	make_dir(*state, "filled", KODA_PLACEHOLDER_MAKING);
	(void)koda_make_file(*state, "filled/file", "");
	make_dir(*state, "sticky", S_ISVTX | 0755);
	(void)koda_make_file(*state, "file", "");
	(void)koda_make_link(*state, "link", "marked");
	make_dir(*state, "neighbour", 0755);
	make_dir(*state, "neighbour/.git", 0755);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (strcmp(rows[i].name, "own") != 0 && strcmp(rows[i].name, "making") != 0 &&
		    strcmp(rows[i].name, "sticky") != 0 && strcmp(rows[i].name, "link") != 0)
			set_time(*state, rows[i].name, KODA_PLACEHOLDER_TIME);
	KODA_EACH(row, rows) {
		struct stat st;

		assert_int_equal(lstat(koda_in(*state, row->name), &st), 0);
		KODA_EXPECT(row->name, koda_placeholder_is(AT_FDCWD, koda_in(*state, row->name),
							   &st) == row->want);
	}
}

static void whoever_uses_it_makes_it_theirs(void **state)
{
	struct stat st;

	make_dir(*state, "used", 0755);
	set_time(*state, "used", KODA_PLACEHOLDER_TIME);
	assert_int_equal(lstat(koda_in(*state, "used"), &st), 0);
	assert_true(koda_placeholder_is_marked(&st));
	(void)koda_make_file(*state, "used/file", "");
	assert_int_equal(unlink(koda_in(*state, "used/file")), 0);
	assert_int_equal(lstat(koda_in(*state, "used"), &st), 0);
	assert_false(koda_placeholder_is_marked(&st));
	assert_false(koda_placeholder_is(AT_FDCWD, koda_in(*state, "used"), &st));
}

static void what_has_gone_was_one(void **state)
{
	struct stat st;

	make_dir(*state, "gone", 0755);
	set_time(*state, "gone", KODA_PLACEHOLDER_TIME);
	assert_int_equal(lstat(koda_in(*state, "gone"), &st), 0);
	assert_int_equal(rmdir(koda_in(*state, "gone")), 0);
	assert_true(koda_placeholder_is(AT_FDCWD, koda_in(*state, "gone"), &st));
}

/* They look as if they were being made, and stay so. */
static void many_that_cannot_be_opened_are_waited_for_once(void **state)
{
	enum {
		MANY = 40
	};
	struct timespec from;
	struct timespec to;
	char name[16];
	int found = 0;

	for (int i = 0; i < MANY; i++) {
		(void)snprintf(name, sizeof(name), "closed%d", i);
		make_dir(*state, name, S_ISVTX);
	}
	assert_int_equal(chmod(*state, 0755), 0);
	if (geteuid() == 0)
		assert_int_equal(seteuid(65534), 0); /* root opens everything */
	assert_int_equal(clock_gettime(CLOCK_MONOTONIC, &from), 0);
	for (int i = 0; i < MANY; i++) {
		struct stat st;

		(void)snprintf(name, sizeof(name), "closed%d", i);
		if (lstat(koda_in(*state, name), &st) == 0)
			found += koda_placeholder_is(AT_FDCWD, koda_in(*state, name), &st);
		else
			found = -MANY; /* that user cannot get here */
	}
	assert_int_equal(clock_gettime(CLOCK_MONOTONIC, &to), 0);
	if (getuid() == 0)
		assert_int_equal(seteuid(0), 0);
	if (found < 0)
		skip();
	assert_int_equal(found, 0);
	assert_true(to.tv_sec - from.tv_sec < 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		KODA_SCRATCH_TEST(a_mark_and_no_contents_make_a_placeholder),
		KODA_SCRATCH_TEST(whoever_uses_it_makes_it_theirs),
		KODA_SCRATCH_TEST(what_has_gone_was_one),
		KODA_SCRATCH_TEST(many_that_cannot_be_opened_are_waited_for_once),
	};

	return KODA_TEST_RUN(tests);
}
