/* SPDX-License-Identifier: MIT */
/* WRITE: a file is replaced as a whole or not at all, and keeps what belongs to it. */
#include "rig.h"

#include "base/clock.h"
#include "base/sha256.h"

#include <dirent.h>
#include <sys/xattr.h>

/* Names in a directory, but "." and "..". */
static int count_names(const char *path)
{
	DIR *dir = opendir(path);
	int count = 0;

	assert_non_null(dir);
	while (readdir(dir))
		count++;
	(void)closedir(dir);
	return count - 2;
}

static mode_t mode_of(const char *path)
{
	struct stat st;

	assert_int_equal(lstat(path, &st), 0);
	return st.st_mode;
}

static void files_are_written(void **state)
{
	struct rig_setup setup = { .dir = *state };
	struct koda_fs_frame request;
	struct answer answer;
	struct rig rig;

	rig_start(&rig, &setup);
	request = rig_request(&rig, KODA_FS_OP_WRITE, "new");
	request.n[0] = 0640;
	rig_send(&rig, &request);
	rig_send_content(&rig, request.id, "first", 5);
	rig_await(&rig, request.id, &answer);
	assert_int_equal(answer.frame.code, KODA_FS_STATUS_OK);
	assert_int_equal(answer.frame.n[0], 5);
	assert_int_equal(answer.frame.n[1], 0640);
	assert_string_equal(answer.path, koda_in(*state, "root/new"));
	assert_string_equal(rig_content(koda_in(*state, "root/new")), "first");
	assert_int_equal(mode_of(koda_in(*state, "root/new")), S_IFREG | 0640);
	RIG_EXPECT(OK, rig_write(&rig, "new", "second", 0));
	assert_string_equal(rig_content(koda_in(*state, "root/new")), "second");
	assert_int_equal(mode_of(koda_in(*state, "root/new")), S_IFREG | 0640);
	RIG_EXPECT(OK, rig_write(&rig, "empty", "", 0));
	assert_string_equal(rig_content(koda_in(*state, "root/empty")), "");
	RIG_EXPECT(EXISTS, rig_write(&rig, "new", "third", KODA_FS_NEW));
	RIG_EXPECT(OK, rig_write(&rig, "newer", "third", KODA_FS_NEW));
	RIG_EXPECT(MISSING, rig_write(&rig, "a/b/c", "x", 0));
	RIG_EXPECT(OK, rig_write(&rig, "a/b/c", "deep", KODA_FS_PARENTS));
	RIG_EXPECT(OK, rig_write(&rig, "a/b/c", "deeper", KODA_FS_PARENTS));
	assert_string_equal(rig_content(koda_in(*state, "root/a/b/c")), "deeper");
	RIG_EXPECT(MISSING, rig_write(&rig, "m/../c", "x", KODA_FS_PARENTS));
	RIG_EXPECT(NOT_FILE, rig_write(&rig, "a", "x", 0));
	RIG_EXPECT(NOT_FILE, rig_write(&rig, ".", "x", 0));
	RIG_EXPECT(NOT_FILE, rig_write(&rig, "no-dir/", "x", 0));
	RIG_EXPECT(NOT_FILE, rig_write(&rig, "no-dir/.", "x", KODA_FS_NEW));
	RIG_EXPECT(NOT_FILE, rig_write(&rig, "no/dir/", "x", KODA_FS_PARENTS));
	RIG_EXPECT(NOT_DIR, rig_write(&rig, "new/x", "x", KODA_FS_PARENTS));
	request = rig_request(&rig, KODA_FS_OP_WRITE, "suid");
	request.n[0] = 04755;
	rig_send(&rig, &request);
	rig_send_content(&rig, request.id, "x", 1);
	rig_await(&rig, request.id, &answer);
	assert_int_equal(answer.frame.code, KODA_FS_STATUS_INVALID);
	assert_string_equal(rig_content(koda_in(*state, "root/new")), "second");
	assert_int_equal(count_names(koda_in(*state, "root")), 4);
	rig_answer_clear(&answer);
	assert_int_equal(rig_stop(&rig), 0);
}

/* T-100 Nothing outside is written, by whatever name; a link itself is never replaced. */
static void symlink_escape_is_denied(void **state)
{
	struct rig_setup setup = { .dir = *state };
	static const char *const ways[] = { "file-link", "dir-link/file",   "dir-link/new",
					    "chain",     "up/outside/file", "../outside/file" };
	struct rig rig;

	(void)koda_make_dir(*state, "outside");
	(void)koda_make_file(*state, "outside/file", "untouched");
	(void)koda_make_link(*state, "root/file-link", "../outside/file");
	(void)koda_make_link(*state, "root/dir-link", koda_in(*state, "outside"));
	(void)koda_make_link(*state, "root/chain", "file-link");
	(void)koda_make_link(*state, "root/up", "..");
	(void)koda_make_link(*state, "root/dangling", "../outside/other");
	(void)koda_make_link(*state, "root/inside-dangling", "other");
	(void)koda_make_file(*state, "root/target", "old");
	(void)koda_make_link(*state, "root/inside", "target");
	rig_start(&rig, &setup);
	KODA_EACH(way, ways) {
		KODA_EXPECT(*way, rig_write(&rig, *way, "x", 0) == KODA_FS_STATUS_OUTSIDE);
		KODA_EXPECT(*way,
			    rig_write(&rig, *way, "x", KODA_FS_IN_PLACE) == KODA_FS_STATUS_OUTSIDE);
	}
	RIG_EXPECT(OUTSIDE, rig_write(&rig, "dangling", "x", 0));
	RIG_EXPECT(LINK, rig_write(&rig, "inside-dangling", "x", 0));
	RIG_EXPECT(EXISTS, rig_write(&rig, "inside-dangling", "x", KODA_FS_NEW));
	RIG_EXPECT(EXISTS, rig_write(&rig, "file-link", "x", KODA_FS_NEW));
	assert_string_equal(rig_content(koda_in(*state, "outside/file")), "untouched");
	assert_int_equal(count_names(koda_in(*state, "outside")), 1);
	/* The twin: a link that stays inside. The file changes, and the link stays one. */
	RIG_EXPECT(OK, rig_write(&rig, "inside", "new", 0));
	assert_string_equal(rig_content(koda_in(*state, "root/target")), "new");
	assert_true(S_ISLNK(mode_of(koda_in(*state, "root/inside"))));
	assert_int_equal(rig_stop(&rig), 0);
}

static void denied_writes_are_refused(void **state)
{
	struct rig_setup setup = { .dir = *state,
				   .rules = { { "root", MARK(ALLOW_WRITE) },
					      { "root/closed", MARK(DENY_WRITE) },
					      { "root/hidden", MARK(DENY_READ) },
					      { "root/hidden/hole", MARK(READ_HOLE) },
					      { "root/.git/hooks", MARK(GIT) },
					      { "other/file", MARK(ALLOW_WRITE) } },
				   .roots = { "root", "other" } };
	static const struct {
		const char *path, *rule;
		enum koda_reason why;
	} rows[] = {
		{ "closed/x", "root/closed", KODA_REASON_DENY_WRITE },
		{ "closed", "root/closed", KODA_REASON_DENY_WRITE },
		{ "into-closed/x", "root/closed", KODA_REASON_DENY_WRITE },
		{ "hidden/hole/x", "root/hidden", KODA_REASON_DENY_READ },
		{ ".git/hooks/pre-commit", "root/.git/hooks", KODA_REASON_GIT },
		{ ".git", "root/.git/hooks", KODA_REASON_GIT },
	};
	struct rig rig;

	(void)koda_make_dir(*state, "root/closed");
	(void)koda_make_link(*state, "root/into-closed", "closed");
	(void)koda_make_dir(*state, "other");
	(void)koda_make_file(*state, "other/file", "old");
	rig_start(&rig, &setup);
	KODA_EACH(row, rows) {
		struct koda_fs_frame request = rig_request(&rig, KODA_FS_OP_WRITE, row->path);
		struct answer answer;

		request.flags = KODA_FS_PARENTS;
		rig_send(&rig, &request);
		rig_send_content(&rig, request.id, "x", 1);
		rig_await(&rig, request.id, &answer);
		KODA_EXPECT(row->path, answer.frame.code == KODA_FS_STATUS_DENIED);
		KODA_EXPECT(row->path, answer.frame.reason == row->why);
		assert_string_equal(answer.rule, koda_in(*state, row->rule));
	}
	assert_int_equal(count_names(koda_in(*state, "root")), 2);
	assert_int_equal(count_names(koda_in(*state, "root/closed")), 0);
	RIG_EXPECT(OK, rig_write(&rig, ".git/other", "x", KODA_FS_PARENTS));
	/* A file whose directory is not writable cannot be replaced, but written. */
	RIG_EXPECT(DENIED, rig_write(&rig, koda_in(*state, "other/file"), "x", 0));
	RIG_EXPECT(DENIED, rig_write(&rig, koda_in(*state, "other/new"), "x", KODA_FS_IN_PLACE));
	RIG_EXPECT(OK, rig_write(&rig, koda_in(*state, "other/file"), "x", KODA_FS_IN_PLACE));
	assert_string_equal(rig_content(koda_in(*state, "other/file")), "x");
	assert_int_equal(rig_stop(&rig), 0);
}

/* Mode, group and extended attributes stay; the inode is another one. */
static void what_belongs_to_a_file_is_kept(void **state)
{
	struct rig_setup setup = { .dir = *state };
	const char *path = koda_make_file(*state, "root/file", "old");
	bool has_xattrs = setxattr(path, "user.koda", "value", 5, 0) == 0;
	struct stat before, after;
	struct rig rig;
	char value[8];

	assert_int_equal(chmod(path, 0751), 0);
	if (geteuid() == 0)
		assert_int_equal(chown(path, 0, 12), 0);
	assert_int_equal(stat(path, &before), 0);
	rig_start(&rig, &setup);
	RIG_EXPECT(OK, rig_write(&rig, "file", "new", 0));
	assert_int_equal(stat(path, &after), 0);
	assert_int_not_equal(after.st_ino, before.st_ino);
	assert_int_equal(after.st_mode, before.st_mode);
	assert_int_equal(after.st_uid, before.st_uid);
	assert_int_equal(after.st_gid, before.st_gid);
	if (has_xattrs) {
		assert_int_equal(getxattr(path, "user.koda", value, sizeof(value)), 5);
		assert_memory_equal(value, "value", 5);
	}
	/* In place, it is the file itself. */
	RIG_EXPECT(OK, rig_write(&rig, "file", "x", KODA_FS_IN_PLACE));
	assert_string_equal(rig_content(path), "x");
	assert_int_equal(stat(path, &before), 0);
	assert_int_equal(before.st_ino, after.st_ino);
	assert_int_equal(rig_stop(&rig), 0);
}

static void further_links_and_owners_need_in_place(void **state)
{
	struct rig_setup setup = { .dir = *state };
	const char *path = koda_make_file(*state, "root/file", "old");
	const char *twin = koda_in(*state, "root/twin");
	struct rig rig;

	assert_int_equal(link(path, twin), 0);
	rig_start(&rig, &setup);
	RIG_EXPECT(LINKED, rig_write(&rig, "file", "new", 0));
	assert_string_equal(rig_content(path), "old");
	RIG_EXPECT(OK, rig_write(&rig, "file", "new", KODA_FS_IN_PLACE));
	assert_string_equal(rig_content(twin), "new");
	if (geteuid() == 0) {
		(void)koda_make_file(*state, "root/foreign", "old");
		assert_int_equal(chown(koda_in(*state, "root/foreign"), 12345, 0), 0);
		RIG_EXPECT(FOREIGN, rig_write(&rig, "foreign", "new", 0));
		RIG_EXPECT(OK, rig_write(&rig, "foreign", "new", KODA_FS_IN_PLACE));
	}
	assert_int_equal(rig_stop(&rig), 0);
}

/* Writes with an expected hash. */
static enum koda_fs_status write_expecting(struct rig *rig, const char *path, const char *expected,
					   uint32_t flags)
{
	struct koda_fs_frame request = rig_request(rig, KODA_FS_OP_WRITE, path);
	unsigned char hash[KODA_SHA256_BYTES];
	struct koda_sha256 sha;
	struct answer answer;

	koda_sha256_start(&sha);
	koda_sha256_add(&sha, expected, strlen(expected));
	koda_sha256_end(&sha, hash);
	memcpy(&request.n[2], hash, sizeof(hash));
	request.flags = flags | KODA_FS_EXPECT;
	rig_send(rig, &request);
	rig_send_content(rig, request.id, "new", 3);
	rig_await(rig, request.id, &answer);
	return (enum koda_fs_status)answer.frame.code;
}

static void another_content_than_expected(void **state)
{
	struct rig_setup setup = { .dir = *state };
	const char *path = koda_make_file(*state, "root/file", "old");
	struct rig rig;

	rig_start(&rig, &setup);
	RIG_EXPECT(CHANGED, write_expecting(&rig, "file", "other", 0));
	RIG_EXPECT(CHANGED, write_expecting(&rig, "file", "other", KODA_FS_IN_PLACE));
	RIG_EXPECT(CHANGED, write_expecting(&rig, "missing", "", 0));
	assert_string_equal(rig_content(path), "old");
	assert_int_equal(count_names(koda_in(*state, "root")), 1);
	RIG_EXPECT(OK, write_expecting(&rig, "file", "old", 0));
	RIG_EXPECT(OK, write_expecting(&rig, "file", "new", KODA_FS_IN_PLACE));
	assert_string_equal(rig_content(path), "new");
	assert_int_equal(rig_stop(&rig), 0);
}

/* Contents of several files on their way at once; each file changes with its last chunk. */
static void uploads_may_interleave(void **state)
{
	struct rig_setup setup = { .dir = *state };
	struct koda_fs_frame requests[KODA_FS_UPLOADS_MAX + 1];
	struct koda_fs_frame data = { .kind = KODA_FS_DATA, .text = { { "half", 4 } } };
	struct answer answer;
	struct rig rig;
	char name[32];

	(void)koda_make_file(*state, "root/0", "old");
	rig_start(&rig, &setup);
	for (size_t i = 0; i <= KODA_FS_UPLOADS_MAX; i++) {
		(void)snprintf(name, sizeof(name), "%zu", i);
		requests[i] = rig_request(&rig, KODA_FS_OP_WRITE, name);
		rig_send(&rig, &requests[i]);
	}
	/* One too many. */
	rig_await(&rig, requests[KODA_FS_UPLOADS_MAX].id, &answer);
	assert_int_equal(answer.frame.code, KODA_FS_STATUS_BUSY);
	for (size_t i = 0; i <= KODA_FS_UPLOADS_MAX; i++) {
		data.id = requests[i].id;
		rig_send(&rig, &data);
	}
	assert_string_equal(rig_read(&rig, "0"), "old");
	assert_int_equal(count_names(koda_in(*state, "root")), 1);
	/* An id that is in use. */
	rig_send(&rig, &requests[3]);
	rig_await(&rig, requests[3].id, &answer);
	assert_int_equal(answer.frame.code, KODA_FS_STATUS_INVALID);
	data.flags = KODA_FS_LAST;
	for (size_t i = 0; i < KODA_FS_UPLOADS_MAX; i++) {
		data.id = requests[i].id;
		rig_send(&rig, &data);
		rig_await(&rig, data.id, &answer);
		assert_int_equal(answer.frame.code, KODA_FS_STATUS_OK);
		(void)snprintf(name, sizeof(name), "root/%zu", i);
		assert_string_equal(rig_content(koda_in(*state, name)), "halfhalf");
	}
	data.id = requests[KODA_FS_UPLOADS_MAX].id;
	rig_send(&rig, &data);
	RIG_EXPECT(OK, rig_do(&rig, KODA_FS_OP_PING, "", 0));
	assert_int_equal(rig_stop(&rig), 0);
}

/* What ends an upload before its last chunk leaves the file and nothing beside it. */
static void unfinished_uploads_leave_nothing(void **state)
{
	struct rig_setup setup = { .dir = *state };
	struct koda_fs_frame request;
	struct koda_fs_frame data = { .kind = KODA_FS_DATA, .text = { { "half", 4 } } };
	struct koda_fs_frame cancel = { .kind = KODA_FS_CANCEL };
	struct answer answer;
	struct rig rig;

	(void)koda_make_file(*state, "root/file", "old");
	rig_start(&rig, &setup);
	request = rig_request(&rig, KODA_FS_OP_WRITE, "file");
	rig_send(&rig, &request);
	data.id = cancel.id = request.id;
	rig_send(&rig, &data);
	RIG_EXPECT(OK, rig_do(&rig, KODA_FS_OP_PING, "", 0));
	rig_send(&rig, &cancel);
	rig_await(&rig, request.id, &answer);
	assert_int_equal(answer.frame.code, KODA_FS_STATUS_CANCELLED);
	data.flags = KODA_FS_LAST;
	rig_send(&rig, &data); /* dropped */
	RIG_EXPECT(OK, rig_do(&rig, KODA_FS_OP_PING, "", 0));
	/* A deadline passes although nothing is sent. */
	request = rig_request(&rig, KODA_FS_OP_WRITE, "file");
	request.n[1] = koda_clock_now() + 20000000;
	rig_send(&rig, &request);
	rig_await(&rig, request.id, &answer);
	assert_int_equal(answer.frame.code, KODA_FS_STATUS_TIMEOUT);
	/* In place, the file is half written, and the reply says so. */
	request = rig_request(&rig, KODA_FS_OP_WRITE, "file");
	request.flags = KODA_FS_IN_PLACE;
	rig_send(&rig, &request);
	data.id = cancel.id = request.id;
	data.flags = 0;
	rig_send(&rig, &data);
	RIG_EXPECT(OK, rig_do(&rig, KODA_FS_OP_PING, "", 0));
	rig_send(&rig, &cancel);
	rig_await(&rig, request.id, &answer);
	assert_int_equal(answer.frame.code, KODA_FS_STATUS_PARTIAL);
	/* The connection ends in the middle. */
	(void)koda_make_file(*state, "root/other", "old");
	request = rig_request(&rig, KODA_FS_OP_WRITE, "other");
	rig_send(&rig, &request);
	data.id = request.id;
	rig_send(&rig, &data);
	assert_int_equal(rig_stop(&rig), 0);
	assert_string_equal(rig_content(koda_in(*state, "root/other")), "old");
	assert_int_equal(count_names(koda_in(*state, "root")), 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(files_are_written),
		RIG_TEST(symlink_escape_is_denied),
		RIG_TEST(denied_writes_are_refused),
		RIG_TEST(what_belongs_to_a_file_is_kept),
		RIG_TEST(further_links_and_owners_need_in_place),
		RIG_TEST(another_content_than_expected),
		RIG_TEST(uploads_may_interleave),
		RIG_TEST(unfinished_uploads_leave_nothing),
	};

	return KODA_TEST_RUN(tests);
}
