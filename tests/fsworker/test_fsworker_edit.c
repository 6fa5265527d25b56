/* SPDX-License-Identifier: MIT */
/* EDIT: one place and only that, or the file stays as it is. */
#include "rig.h"

#include "base/sha256.h"

/* Asks for an edit of "file". */
static enum koda_fs_status edit(struct rig *rig, const char *old, const char *new, uint32_t flags,
				struct answer *ret_answer)
{
	struct koda_fs_frame request = rig_request(rig, KODA_FS_OP_EDIT, "file");

	request.text[1] = koda_span_of(old);
	request.text[2] = koda_span_of(new);
	request.flags = flags;
	rig_ask(rig, &request, ret_answer);
	return (enum koda_fs_status)ret_answer->frame.code;
}

/* Gives "file" this content. */
static void reset(const char *dir, const char *content)
{
	(void)unlink(koda_in(dir, "root/file"));
	(void)koda_make_file(dir, "root/file", content);
}

static const char *now(const char *dir)
{
	return rig_content(koda_in(dir, "root/file"));
}

static void one_match_is_replaced(void **state)
{
	struct rig_setup setup = { .dir = *state };
	struct answer answer;
	struct stat st;
	struct rig rig;

	reset(*state, "one\ntwo\nthree\n");
	assert_int_equal(chmod(koda_in(*state, "root/file"), 0755), 0);
	(void)koda_make_link(*state, "root/link", "file");
	rig_start(&rig, &setup);
	RIG_EXPECT(OK, edit(&rig, "two\n", "2\n", 0, &answer));
	assert_int_equal(answer.frame.n[0], 1);
	assert_string_equal(now(*state), "one\n2\nthree\n");
	RIG_EXPECT(OK, edit(&rig, "2\n", "", 0, &answer));
	assert_string_equal(now(*state), "one\nthree\n");
	RIG_EXPECT(OK, edit(&rig, "one\nthree\n", "", 0, &answer));
	assert_string_equal(now(*state), "");
	RIG_EXPECT(NO_MATCH, edit(&rig, "x", "y", 0, &answer));
	assert_int_equal(answer.frame.n[1], 0);
	assert_int_equal(stat(koda_in(*state, "root/file"), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0755);
	reset(*state, "in place");
	RIG_EXPECT(OK, edit(&rig, "in place", "x", KODA_FS_IN_PLACE, &answer));
	assert_string_equal(now(*state), "x");
	assert_int_equal(rig_stop(&rig), 0);
}

static void ambiguous_texts_need_all(void **state)
{
	struct rig_setup setup = { .dir = *state };
	struct answer answer;
	struct rig rig;

	reset(*state, "aXbXcX");
	rig_start(&rig, &setup);
	RIG_EXPECT(AMBIGUOUS, edit(&rig, "X", "-", 0, &answer));
	assert_int_equal(answer.frame.n[0], 3);
	assert_string_equal(now(*state), "aXbXcX");
	RIG_EXPECT(INVALID, edit(&rig, "", "-", 0, &answer));
	RIG_EXPECT(INVALID, edit(&rig, "", "-", KODA_FS_ALL, &answer));
	assert_string_equal(now(*state), "aXbXcX");
	RIG_EXPECT(OK, edit(&rig, "X", "--", KODA_FS_ALL, &answer));
	assert_int_equal(answer.frame.n[0], 3);
	assert_string_equal(now(*state), "a--b--c--");
	/* Matches do not overlap. */
	reset(*state, "aaaaa");
	RIG_EXPECT(OK, edit(&rig, "aa", "b", KODA_FS_ALL, &answer));
	assert_int_equal(answer.frame.n[0], 2);
	assert_string_equal(now(*state), "bba");
	assert_int_equal(rig_stop(&rig), 0);
}

/* The line that a model probably meant is named. */
static void the_nearest_miss_is_told(void **state)
{
	static const struct {
		const char *name, *content, *old;
		uint64_t line;
		const char *text;
	} rows[] = {
		{ "indentation", "int main(void)\n{\n\treturn 0;\n}\n", "    return 0;\n", 3,
		  "\treturn 0;" },
		{ "one word", "alpha beta gamma\nother line here\n", "alpha beta delta gamma", 1,
		  "alpha beta gamma" },
		{ "the last of three lines", "begin\nfirst\nend\nbegin\nsecond line\nthird line\n",
		  "begin\nsecond line\nthird lime", 6, "third line" },
		{ "beyond the end", "a\nb\nlast line", "last line\nand more", 0, "" },
		{ "nothing like it", "aaaa\nbbbb\n", "zzzz", 0, "" },
	};
	struct rig_setup setup = { .dir = *state };
	struct rig rig;

	rig_start(&rig, &setup);
	KODA_EACH(row, rows) {
		struct answer answer;

		reset(*state, row->content);
		KODA_EXPECT(row->name,
			    edit(&rig, row->old, "new", 0, &answer) == KODA_FS_STATUS_NO_MATCH);
		KODA_EXPECT(row->name, answer.frame.n[1] == row->line);
		assert_string_equal(answer.said, row->text);
		assert_string_equal(now(*state), row->content);
	}
	assert_int_equal(rig_stop(&rig), 0);
}

static void line_ends_are_kept(void **state)
{
	struct rig_setup setup = { .dir = *state };
	struct answer answer;
	struct rig rig;

	rig_start(&rig, &setup);
	reset(*state, "one\r\ntwo\r\nthree\r\n");
	RIG_EXPECT(OK, edit(&rig, "one\ntwo\n", "1\n2\n", 0, &answer));
	assert_string_equal(now(*state), "1\r\n2\r\nthree\r\n");
	RIG_EXPECT(OK, edit(&rig, "three", "3\n4", 0, &answer));
	assert_string_equal(now(*state), "1\r\n2\r\n3\r\n4\r\n");
	RIG_EXPECT(OK, edit(&rig, "3\r\n", "", 0, &answer));
	assert_string_equal(now(*state), "1\r\n2\r\n4\r\n");
	/* A file of both kinds is taken literally. */
	reset(*state, "one\r\ntwo\n");
	RIG_EXPECT(NO_MATCH, edit(&rig, "one\ntwo", "x", 0, &answer));
	RIG_EXPECT(OK, edit(&rig, "two\n", "2\n3\n", 0, &answer));
	assert_string_equal(now(*state), "one\r\n2\n3\n");
	/* What is not UTF-8 is bytes like any other, and no newline is added at the end. */
	reset(*state, "\xff\xfe tail");
	RIG_EXPECT(OK, edit(&rig, "\xff", "\x80\x80", 0, &answer));
	assert_string_equal(now(*state), "\x80\x80\xfe tail");
	assert_int_equal(rig_stop(&rig), 0);
}

static void failures_keep_the_file(void **state)
{
	struct rig_setup setup = { .dir = *state,
				   .rules = { { "root", MARK(ALLOW_WRITE) },
					      { "root/closed", MARK(DENY_WRITE) } } };
	struct koda_fs_frame request;
	struct answer answer;
	struct rig rig;

	(void)koda_make_dir(*state, "root/closed");
	(void)koda_make_file(*state, "root/closed/file", "old");
	(void)koda_make_file(*state, "root/twin", "old");
	reset(*state, "old");
	rig_start(&rig, &setup);
	RIG_EXPECT(DENIED, rig_do2(&rig, KODA_FS_OP_EDIT, "closed/file", "old", 0));
	assert_string_equal(rig_content(koda_in(*state, "root/closed/file")), "old");
	RIG_EXPECT(MISSING, rig_do2(&rig, KODA_FS_OP_EDIT, "nothing", "old", 0));
	RIG_EXPECT(NOT_FILE, rig_do2(&rig, KODA_FS_OP_EDIT, "closed/..", "old", 0));
	assert_int_equal(link(koda_in(*state, "root/twin"), koda_in(*state, "root/twin2")), 0);
	RIG_EXPECT(LINKED, rig_do2(&rig, KODA_FS_OP_EDIT, "twin", "old", 0));
	assert_string_equal(rig_content(koda_in(*state, "root/twin")), "old");
	request = rig_request(&rig, KODA_FS_OP_EDIT, "file");
	request.text[1] = koda_span_of("old");
	request.flags = KODA_FS_EXPECT;
	rig_ask(&rig, &request, &answer);
	assert_int_equal(answer.frame.code, KODA_FS_STATUS_CHANGED);
	assert_string_equal(now(*state), "old");
	/* The twin: the hash that the file has. */
	{
		unsigned char hash[KODA_SHA256_BYTES];
		struct koda_sha256 sha;

		koda_sha256_start(&sha);
		koda_sha256_add(&sha, "old", 3);
		koda_sha256_end(&sha, hash);
		request.id = ++rig.last_id;
		memcpy(&request.n[2], hash, sizeof(hash));
	}
	rig_ask(&rig, &request, &answer);
	assert_int_equal(answer.frame.code, KODA_FS_STATUS_OK);
	assert_string_equal(now(*state), "");
	assert_int_equal(rig_stop(&rig), 0);
}

static void large_files_have_a_ceiling(void **state)
{
	struct rig_setup setup = { .dir = *state };
	struct answer answer;
	struct rig rig;

	reset(*state, "x");
	assert_int_equal(truncate(koda_in(*state, "root/file"), (off_t)KODA_FS_EDIT_MAX), 0);
	rig_start(&rig, &setup);
	RIG_EXPECT(OK, edit(&rig, "x", "y", 0, &answer));
	RIG_EXPECT(TOO_LARGE, edit(&rig, "y", "yy", 0, &answer));
	assert_int_equal(truncate(koda_in(*state, "root/file"), (off_t)KODA_FS_EDIT_MAX + 1), 0);
	RIG_EXPECT(TOO_LARGE, edit(&rig, "y", "", 0, &answer));
	assert_int_equal(rig_stop(&rig), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(one_match_is_replaced),    RIG_TEST(ambiguous_texts_need_all),
		RIG_TEST(the_nearest_miss_is_told), RIG_TEST(line_ends_are_kept),
		RIG_TEST(failures_keep_the_file),   RIG_TEST(large_files_have_a_ceiling),
	};

	return KODA_TEST_RUN(tests);
}
