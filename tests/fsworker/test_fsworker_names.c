/* SPDX-License-Identifier: MIT */
/* MKDIR, REMOVE and RENAME: directory entries change, and nothing behind a link. */
#include "rig.h"

static bool is_there(const char *dir, const char *name)
{
	struct stat st;

	return lstat(koda_in(dir, name), &st) == 0;
}

static void directories_are_made(void **state)
{
	struct rig_setup setup = { .dir = *state,
				   .rules = { { "root", MARK(ALLOW_WRITE) },
					      { "root/a/closed", MARK(DENY_WRITE) } } };
	struct rig rig;

	(void)koda_make_file(*state, "root/file", "");
	(void)koda_make_link(*state, "root/link", "a");
	(void)koda_make_link(*state, "root/out", "..");
	rig_start(&rig, &setup);
	RIG_EXPECT(OK, rig_do(&rig, KODA_FS_OP_MKDIR, "a", 0));
	assert_true(is_there(*state, "root/a"));
	RIG_EXPECT(EXISTS, rig_do(&rig, KODA_FS_OP_MKDIR, "a", 0));
	RIG_EXPECT(OK, rig_do(&rig, KODA_FS_OP_MKDIR, "a", KODA_FS_PARENTS));
	RIG_EXPECT(EXISTS, rig_do(&rig, KODA_FS_OP_MKDIR, "file", KODA_FS_PARENTS));
	RIG_EXPECT(MISSING, rig_do(&rig, KODA_FS_OP_MKDIR, "b/c/d", 0));
	RIG_EXPECT(OK, rig_do(&rig, KODA_FS_OP_MKDIR, "b/c/d/", KODA_FS_PARENTS));
	assert_true(is_there(*state, "root/b/c/d"));
	RIG_EXPECT(OK, rig_do(&rig, KODA_FS_OP_MKDIR, "link/below", 0));
	assert_true(is_there(*state, "root/a/below"));
	RIG_EXPECT(EXISTS, rig_do(&rig, KODA_FS_OP_MKDIR, "link", 0));
	RIG_EXPECT(EXISTS, rig_do(&rig, KODA_FS_OP_MKDIR, ".", 0));
	RIG_EXPECT(DENIED, rig_do(&rig, KODA_FS_OP_MKDIR, "a/closed", 0));
	RIG_EXPECT(DENIED, rig_do(&rig, KODA_FS_OP_MKDIR, "a/closed/x/y", KODA_FS_PARENTS));
	RIG_EXPECT(OUTSIDE, rig_do(&rig, KODA_FS_OP_MKDIR, "out/x", 0));
	RIG_EXPECT(NOT_DIR, rig_do(&rig, KODA_FS_OP_MKDIR, "file/x", KODA_FS_PARENTS));
	assert_int_equal(rig_stop(&rig), 0);
}

static void names_are_removed(void **state)
{
	struct rig_setup setup = { .dir = *state };
	struct rig rig;

	(void)koda_make_dir(*state, "outside");
	(void)koda_make_file(*state, "outside/file", "untouched");
	(void)koda_make_link(*state, "root/out", "../outside");
	(void)koda_make_file(*state, "root/file", "");
	(void)koda_make_dir(*state, "root/tree");
	(void)koda_make_dir(*state, "root/tree/sub");
	(void)koda_make_file(*state, "root/tree/sub/file", "");
	(void)koda_make_link(*state, "root/tree/sub/out", koda_in(*state, "outside"));
	(void)koda_make_link(*state, "root/tree/dangling", "nowhere");
	rig_start(&rig, &setup);
	RIG_EXPECT(OK, rig_do(&rig, KODA_FS_OP_REMOVE, "file", 0));
	RIG_EXPECT(MISSING, rig_do(&rig, KODA_FS_OP_REMOVE, "file", 0));
	RIG_EXPECT(NOT_EMPTY, rig_do(&rig, KODA_FS_OP_REMOVE, "tree", 0));
	assert_true(is_there(*state, "root/tree/sub/file"));
	RIG_EXPECT(OK, rig_do(&rig, KODA_FS_OP_REMOVE, "tree", KODA_FS_RECURSIVE));
	assert_false(is_there(*state, "root/tree"));
	/* A link goes, and nothing behind it. */
	RIG_EXPECT(NOT_DIR, rig_do(&rig, KODA_FS_OP_REMOVE, "out/", KODA_FS_RECURSIVE));
	RIG_EXPECT(OK, rig_do(&rig, KODA_FS_OP_REMOVE, "out", KODA_FS_RECURSIVE));
	assert_string_equal(rig_content(koda_in(*state, "outside/file")), "untouched");
	RIG_EXPECT(OUTSIDE, rig_do(&rig, KODA_FS_OP_REMOVE, ".", KODA_FS_RECURSIVE));
	RIG_EXPECT(OUTSIDE, rig_do(&rig, KODA_FS_OP_REMOVE, "../outside", KODA_FS_RECURSIVE));
	RIG_EXPECT(OK, rig_do(&rig, KODA_FS_OP_MKDIR, "empty", 0));
	RIG_EXPECT(OK, rig_do(&rig, KODA_FS_OP_REMOVE, "empty", 0));
	assert_int_equal(rig_stop(&rig), 0);
}

/* T-11 What is protected does not go with the directory that it is in. */
static void directories_of_protected_names_stay(void **state)
{
	struct rig_setup setup = { .dir = *state,
				   .rules = { { "root", MARK(ALLOW_WRITE) },
					      { "root/a/b/closed", MARK(DENY_WRITE) },
					      { "root/h/hidden", MARK(DENY_READ) } } };
	struct rig rig;

	(void)koda_make_dir(*state, "root/a");
	(void)koda_make_dir(*state, "root/a/b");
	(void)koda_make_dir(*state, "root/a/b/closed");
	(void)koda_make_dir(*state, "root/h");
	(void)koda_make_dir(*state, "root/free");
	rig_start(&rig, &setup);
	RIG_EXPECT(DENIED, rig_do(&rig, KODA_FS_OP_REMOVE, "a", KODA_FS_RECURSIVE));
	RIG_EXPECT(DENIED, rig_do(&rig, KODA_FS_OP_REMOVE, "a/b/closed", KODA_FS_RECURSIVE));
	RIG_EXPECT(DENIED, rig_do2(&rig, KODA_FS_OP_RENAME, "a", "c", 0));
	RIG_EXPECT(DENIED, rig_do2(&rig, KODA_FS_OP_RENAME, "h", "c", 0));
	RIG_EXPECT(DENIED, rig_do2(&rig, KODA_FS_OP_RENAME, "free", "a/b/closed", 0));
	RIG_EXPECT(DENIED, rig_do2(&rig, KODA_FS_OP_RENAME, "free", "a/b", 0));
	RIG_EXPECT(DENIED, rig_do2(&rig, KODA_FS_OP_RENAME, "a/b/closed", "x", 0));
	assert_true(is_there(*state, "root/a/b/closed"));
	RIG_EXPECT(OK, rig_do2(&rig, KODA_FS_OP_RENAME, "free", "a/moved", 0));
	RIG_EXPECT(OK, rig_do(&rig, KODA_FS_OP_REMOVE, "a/moved", KODA_FS_RECURSIVE));
	assert_int_equal(rig_stop(&rig), 0);
}

static void names_are_renamed(void **state)
{
	struct rig_setup setup = { .dir = *state };
	struct rig rig;

	(void)koda_make_dir(*state, "outside");
	(void)koda_make_file(*state, "outside/file", "untouched");
	(void)koda_make_file(*state, "root/a", "a");
	(void)koda_make_file(*state, "root/b", "b");
	(void)koda_make_dir(*state, "root/sub");
	(void)koda_make_link(*state, "root/link", "../outside/file");
	(void)koda_make_link(*state, "root/out", "../outside");
	rig_start(&rig, &setup);
	RIG_EXPECT(OK, rig_do2(&rig, KODA_FS_OP_RENAME, "a", "sub/a", 0));
	assert_string_equal(rig_content(koda_in(*state, "root/sub/a")), "a");
	RIG_EXPECT(EXISTS, rig_do2(&rig, KODA_FS_OP_RENAME, "sub/a", "b", KODA_FS_NEW));
	RIG_EXPECT(OK, rig_do2(&rig, KODA_FS_OP_RENAME, "sub/a", "b", 0));
	assert_string_equal(rig_content(koda_in(*state, "root/b")), "a");
	RIG_EXPECT(OK, rig_do2(&rig, KODA_FS_OP_RENAME, "b", "c", KODA_FS_NEW));
	RIG_EXPECT(MISSING, rig_do2(&rig, KODA_FS_OP_RENAME, "b", "d", 0));
	RIG_EXPECT(MISSING, rig_do2(&rig, KODA_FS_OP_RENAME, "c", "no/d", 0));
	RIG_EXPECT(SYSTEM, rig_do2(&rig, KODA_FS_OP_RENAME, "sub", "sub/sub", 0));
	RIG_EXPECT(INVALID, rig_do2(&rig, KODA_FS_OP_RENAME, "c", "", 0));
	RIG_EXPECT(OUTSIDE, rig_do2(&rig, KODA_FS_OP_RENAME, "c", "out/c", 0));
	RIG_EXPECT(OUTSIDE, rig_do2(&rig, KODA_FS_OP_RENAME, "out/file", "c", 0));
	RIG_EXPECT(OUTSIDE, rig_do2(&rig, KODA_FS_OP_RENAME, ".", "sub/x", 0));
	/* A link is moved, and replaced, as what it is. */
	RIG_EXPECT(OK, rig_do2(&rig, KODA_FS_OP_RENAME, "link", "link2", 0));
	RIG_EXPECT(OK, rig_do2(&rig, KODA_FS_OP_RENAME, "c", "link2", 0));
	assert_string_equal(rig_content(koda_in(*state, "root/link2")), "a");
	assert_string_equal(rig_content(koda_in(*state, "outside/file")), "untouched");
	assert_int_equal(rig_stop(&rig), 0);
}

/* Names of every kind come back as they are. */
static void names_are_any_bytes(void **state)
{
	static const char *const names[] = {
		"new\nline",    "100%s%n",   "-rf",
		"--",           "~",         "$HOME",
		"a b",          "\xff\xfe",  "\xe2\x80\xae.txt",
		"\x01\x1b[31m", "*",         "...",
		"\\",           "\"quote\"", "\xe2\x80\xa6",
	};
	char longest[KODA_NAME_MAX + 1];
	struct rig_setup setup = { .dir = *state };
	struct koda_fs_frame request;
	struct answer answer;
	struct rig rig;

	memset(longest, 'x', KODA_NAME_MAX);
	longest[KODA_NAME_MAX] = '\0';
	rig_start(&rig, &setup);
	KODA_EACH(name, names) {
		KODA_EXPECT(*name, rig_write(&rig, *name, *name, 0) == KODA_FS_STATUS_OK);
		assert_string_equal(rig_read(&rig, *name), *name);
	}
	RIG_EXPECT(OK, rig_write(&rig, longest, "x", 0));
	RIG_EXPECT(OK, rig_do2(&rig, KODA_FS_OP_RENAME, longest, "short", 0));
	RIG_EXPECT(OK, rig_do2(&rig, KODA_FS_OP_RENAME, "short", longest, 0));
	request = rig_request(&rig, KODA_FS_OP_LIST, ".");
	rig_ask(&rig, &request, &answer);
	assert_int_equal(answer.frame.n[0], KODA_ARRAY_LEN(names) + 1);
	for (const char *at = answer.data.ptr; at < answer.data.ptr + answer.data.len;
	     at += strlen(at) + 1) {
		assert_int_equal(at[0], 'f');
		RIG_EXPECT(OK, rig_do(&rig, KODA_FS_OP_REMOVE, at + 1, 0));
	}
	rig_answer_clear(&answer);
	request = rig_request(&rig, KODA_FS_OP_LIST, ".");
	rig_ask(&rig, &request, &answer);
	assert_int_equal(answer.frame.n[0], 0);
	rig_answer_clear(&answer);
	assert_int_equal(rig_stop(&rig), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(directories_are_made),
		RIG_TEST(names_are_removed),
		RIG_TEST(directories_of_protected_names_stay),
		RIG_TEST(names_are_renamed),
		RIG_TEST(names_are_any_bytes),
	};

	return KODA_TEST_RUN(tests);
}
