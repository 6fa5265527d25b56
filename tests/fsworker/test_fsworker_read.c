/* SPDX-License-Identifier: MIT */
/* READ, STAT and LIST: what they tell, and what they refuse. */
#include "rig.h"

#include "base/clock.h"
#include "base/sha256.h"

#include <sys/socket.h>
#include <sys/un.h>

/* A tree to look at. */
static void make_tree(const char *dir)
{

	(void)koda_make_file(dir, "root/hello", "hello\n");
	(void)koda_make_file(dir, "root/empty", "");
	(void)koda_make_dir(dir, "root/sub");
	(void)koda_make_file(dir, "root/sub/deep", "deep");
	(void)koda_make_link(dir, "root/link", "hello");
	(void)koda_make_link(dir, "root/up", "sub/../hello");
	(void)koda_make_link(dir, "root/dangling", "nowhere");
	(void)koda_make_link(dir, "root/loop", "loop");
	(void)koda_make_dir(dir, "outside");
	(void)koda_make_file(dir, "outside/secret", "secret");
	(void)koda_make_link(dir, "root/out", "../outside");
	(void)koda_make_link(dir, "root/out-absolute", koda_in(dir, "outside/secret"));
	(void)koda_make_link(dir, "root/absolute", koda_in(dir, "root/sub"));
}

static void files_are_read(void **state)
{
	struct rig_setup setup = { .dir = *state };
	struct rig rig;

	make_tree(*state);
	rig_start(&rig, &setup);
	assert_string_equal(rig_read(&rig, "hello"), "hello\n");
	assert_string_equal(rig_read(&rig, "empty"), "");
	assert_string_equal(rig_read(&rig, "./sub//deep"), "deep");
	assert_string_equal(rig_read(&rig, "sub/../hello"), "hello\n");
	assert_string_equal(rig_read(&rig, koda_in(*state, "root/hello")), "hello\n");
	assert_string_equal(rig_read(&rig, "link"), "hello\n");
	assert_string_equal(rig_read(&rig, "up"), "hello\n");
	assert_string_equal(rig_read(&rig, "absolute/deep"), "deep");
	RIG_EXPECT(MISSING, rig_do(&rig, KODA_FS_OP_READ, "nothing", 0));
	RIG_EXPECT(MISSING, rig_do(&rig, KODA_FS_OP_READ, "no/thing", 0));
	RIG_EXPECT(NOT_DIR, rig_do(&rig, KODA_FS_OP_READ, "hello/x", 0));
	RIG_EXPECT(NOT_DIR, rig_do(&rig, KODA_FS_OP_READ, "hello/", 0));
	RIG_EXPECT(NOT_FILE, rig_do(&rig, KODA_FS_OP_READ, "sub", 0));
	RIG_EXPECT(NOT_FILE, rig_do(&rig, KODA_FS_OP_READ, ".", 0));
	RIG_EXPECT(LINK, rig_do(&rig, KODA_FS_OP_READ, "dangling", 0));
	RIG_EXPECT(LINK, rig_do(&rig, KODA_FS_OP_READ, "loop", 0));
	assert_int_equal(rig_stop(&rig), 0);
}

/* T-100 Every way out of the root ends with OUTSIDE, before anything there is looked at. */
static void nothing_outside_is_reached(void **state)
{
	struct rig_setup setup = { .dir = *state };
	static const enum koda_fs_op asks[] = { KODA_FS_OP_READ, KODA_FS_OP_STAT, KODA_FS_OP_LIST };
	static const char *const ways[] = {
		"../outside/secret", "out/secret",     "sub/../../outside", "..", "/",
		"/etc/passwd",       "/nothing/there", "out/missing"
	};
	struct rig rig;

	make_tree(*state);
	rig_start(&rig, &setup);
	KODA_EACH(op, asks)
		KODA_EACH(way, ways)
			KODA_EXPECT(*way, rig_do(&rig, *op, *way, 0) == KODA_FS_STATUS_OUTSIDE);
	RIG_EXPECT(OUTSIDE, rig_do(&rig, KODA_FS_OP_READ, "out-absolute", 0));
	RIG_EXPECT(OUTSIDE, rig_do(&rig, KODA_FS_OP_STAT, "out-absolute", KODA_FS_FOLLOW));
	RIG_EXPECT(OUTSIDE, rig_do(&rig, KODA_FS_OP_READ, koda_in(*state, "outside/secret"), 0));
	/* A name that only begins like the root's. */
	RIG_EXPECT(OUTSIDE, rig_do(&rig, KODA_FS_OP_READ, koda_in(*state, "root2"), 0));
	assert_int_equal(rig_stop(&rig), 0);
	/* With a root there, they are reached. */
	setup.roots[0] = "root";
	setup.roots[1] = "outside";
	rig_start(&rig, &setup);
	assert_string_equal(rig_read(&rig, "out/secret"), "secret");
	assert_string_equal(rig_read(&rig, "out-absolute"), "secret");
	assert_string_equal(rig_read(&rig, koda_in(*state, "outside/secret")), "secret");
	RIG_EXPECT(OUTSIDE, rig_do(&rig, KODA_FS_OP_LIST, "..", 0));
	assert_int_equal(rig_stop(&rig), 0);
}

/* T-15 What may not be read is denied with the rule, whether it exists or not. */
static void denied_reads_are_refused(void **state)
{
	struct rig_setup setup = { .dir = *state,
				   .rules = { { "root", MARK(ALLOW_WRITE) },
					      { "root/sub", MARK(DENY_READ) },
					      { "root/sub/open", MARK(READ_HOLE) },
					      { "root/hello", MARK(OWN_STATE) } } };
	static const char *const denied[] = {
		"sub",           "sub/deep",  "sub/missing",        "sub/m/i/s",
		"absolute/deep", "sub/inner", "sub/is/../../empty", "sub/no/../../empty"
	};
	struct koda_fs_frame request;
	rig_auto_answer struct answer answer = { .data = KODA_BUF_INIT(0) };
	struct rig rig;

	make_tree(*state);
	(void)koda_make_dir(*state, "root/sub/open");
	(void)koda_make_file(*state, "root/sub/open/x", "x");
	(void)koda_make_link(*state, "root/sub/inner", "../empty");
	(void)koda_make_dir(*state, "root/sub/is");
	rig_start(&rig, &setup);
	KODA_EACH(path, denied)
		KODA_EXPECT(*path,
			    rig_do(&rig, KODA_FS_OP_READ, *path, 0) == KODA_FS_STATUS_DENIED);
	RIG_EXPECT(DENIED, rig_do(&rig, KODA_FS_OP_STAT, "sub/deep", 0));
	RIG_EXPECT(DENIED, rig_do(&rig, KODA_FS_OP_LIST, "sub", 0));
	RIG_EXPECT(DENIED, rig_do(&rig, KODA_FS_OP_READ, "link", 0));
	assert_string_equal(rig_read(&rig, "sub/open/x"), "x");
	assert_string_equal(rig_read(&rig, "sub/open/../open/x"), "x");
	request = rig_request(&rig, KODA_FS_OP_READ, "absolute/deep");
	rig_ask(&rig, &request, &answer);
	assert_int_equal(answer.frame.reason, KODA_REASON_DENY_READ);
	assert_string_equal(answer.rule, koda_in(*state, "root/sub"));
	assert_string_equal(answer.path, koda_in(*state, "root/sub/deep"));
	assert_int_equal(rig_stop(&rig), 0);
}

static void ranges_and_sizes(void **state)
{
	struct rig_setup setup = { .dir = *state };
	const size_t size = 3 * KODA_FS_CHUNK + 17;
	koda_auto_free char *content = malloc(size);
	struct koda_fs_frame request;
	unsigned char hash[KODA_SHA256_BYTES];
	struct koda_sha256 sha;
	struct answer answer;
	struct rig rig;
	int fd;

	assert_non_null(content);
	for (size_t i = 0; i < size; i++)
		content[i] = (char)(i * 7 + i / 251);
	make_tree(*state);
	fd = open(koda_in(*state, "root/large"), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	assert_int_equal(write(fd, content, size), (ssize_t)size);
	(void)close(fd);
	rig_start(&rig, &setup);
	request = rig_request(&rig, KODA_FS_OP_READ, "large");
	request.flags = KODA_FS_HASH;
	rig_ask(&rig, &request, &answer);
	assert_int_equal(answer.data.len, size);
	assert_memory_equal(answer.data.ptr, content, size);
	assert_int_equal(answer.frame.n[0], size);
	assert_int_equal(answer.frame.n[1], size);
	assert_int_equal(answer.frame.flags, 0);
	koda_sha256_start(&sha);
	koda_sha256_add(&sha, content, size);
	koda_sha256_end(&sha, hash);
	assert_memory_equal(&answer.frame.n[2], hash, sizeof(hash));
	koda_buf_clear(&answer.data);
	request = rig_request(&rig, KODA_FS_OP_READ, "large");
	request.n[0] = KODA_FS_CHUNK + 1;
	request.n[2] = 100;
	rig_ask(&rig, &request, &answer);
	assert_int_equal(answer.data.len, KODA_FS_CHUNK + 1);
	assert_memory_equal(answer.data.ptr, content + 100, KODA_FS_CHUNK + 1);
	assert_int_equal(answer.frame.flags, KODA_FS_TRUNCATED);
	koda_buf_clear(&answer.data);
	/* A ceiling at the end of the file truncates nothing; beyond it there is nothing. */
	request = rig_request(&rig, KODA_FS_OP_READ, "large");
	request.n[0] = size;
	rig_ask(&rig, &request, &answer);
	assert_int_equal(answer.frame.flags, 0);
	koda_buf_clear(&answer.data);
	request = rig_request(&rig, KODA_FS_OP_READ, "large");
	request.n[2] = UINT64_MAX;
	rig_ask(&rig, &request, &answer);
	assert_int_equal(answer.frame.code, KODA_FS_STATUS_OK);
	assert_int_equal(answer.frame.n[0], 0);
	rig_answer_clear(&answer);
	assert_int_equal(rig_stop(&rig), 0);
}

/* Only regular files are read. Opening a FIFO does not block. */
static void special_files_are_refused(void **state)
{
	struct rig_setup setup = { .dir = *state };
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	struct rig rig;
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	make_tree(*state);
	assert_int_equal(mkfifo(koda_in(*state, "root/fifo"), 0666), 0);
	(void)snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", koda_in(*state, "root/socket"));
	assert_int_equal(bind(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	(void)close(fd);
	if (geteuid() == 0)
		assert_int_equal(mknod(koda_in(*state, "root/zero"), S_IFCHR | 0666, 0x105), 0);
	rig_start(&rig, &setup);
	RIG_EXPECT(NOT_FILE, rig_do(&rig, KODA_FS_OP_READ, "fifo", 0));
	RIG_EXPECT(NOT_FILE, rig_do(&rig, KODA_FS_OP_READ, "socket", 0));
	if (geteuid() == 0)
		RIG_EXPECT(NOT_FILE, rig_do(&rig, KODA_FS_OP_READ, "zero", 0));
	RIG_EXPECT(NOT_FILE, rig_write(&rig, "fifo", "x", 0));
	RIG_EXPECT(NOT_FILE, rig_write(&rig, "fifo", "x", KODA_FS_IN_PLACE));
	RIG_EXPECT(NOT_DIR, rig_do(&rig, KODA_FS_OP_LIST, "fifo", 0));
	assert_int_equal(rig_stop(&rig), 0);
	/* Files of procfs are none, either: reading them may wait, or take something away. */
	setup.roots[0] = "/";
	rig_start(&rig, &setup);
	RIG_EXPECT(NOT_FILE, rig_do(&rig, KODA_FS_OP_READ, "/proc/self/status", 0));
	RIG_EXPECT(OK, rig_do(&rig, KODA_FS_OP_READ, koda_in(*state, "root/hello"), 0));
	assert_int_equal(rig_stop(&rig), 0);
}

static void stat_tells(void **state)
{
	struct rig_setup setup = { .dir = *state };
	struct koda_fs_frame request;
	struct answer answer;
	struct stat st;
	struct rig rig;

	make_tree(*state);
	assert_int_equal(stat(koda_in(*state, "root/hello"), &st), 0);
	rig_start(&rig, &setup);
	request = rig_request(&rig, KODA_FS_OP_STAT, "hello");
	rig_ask(&rig, &request, &answer);
	assert_int_equal(answer.frame.n[0], 6);
	assert_int_equal(answer.frame.n[1], S_IFREG | 0644);
	assert_int_equal(answer.frame.n[2],
			 (uint64_t)st.st_mtim.tv_sec * 1000000000U + (uint64_t)st.st_mtim.tv_nsec);
	assert_int_equal(answer.frame.n[3], 1);
	assert_int_equal(answer.frame.n[4], geteuid());
	assert_string_equal(answer.path, koda_in(*state, "root/hello"));
	request = rig_request(&rig, KODA_FS_OP_STAT, "out");
	rig_ask(&rig, &request, &answer);
	assert_true(S_ISLNK((mode_t)answer.frame.n[1]));
	assert_string_equal(answer.path, "../outside");
	request = rig_request(&rig, KODA_FS_OP_STAT, "link");
	request.flags = KODA_FS_FOLLOW;
	rig_ask(&rig, &request, &answer);
	assert_true(S_ISREG((mode_t)answer.frame.n[1]));
	RIG_EXPECT(OK, rig_do(&rig, KODA_FS_OP_STAT, ".", 0));
	RIG_EXPECT(OK, rig_do(&rig, KODA_FS_OP_STAT, "sub/", 0));
	RIG_EXPECT(MISSING, rig_do(&rig, KODA_FS_OP_STAT, "nothing", 0));
	rig_answer_clear(&answer);
	assert_int_equal(rig_stop(&rig), 0);
}

static void directories_are_listed(void **state)
{
	static const char wanted[] = "labsolute\0"
				     "ldangling\0"
				     "fempty\0"
				     "fhello\0"
				     "llink\0"
				     "lloop\0"
				     "lout\0"
				     "lout-absolute\0"
				     "dsub\0"
				     "lup";
	struct rig_setup setup = { .dir = *state };
	struct koda_fs_frame request;
	struct answer answer;
	struct rig rig;

	make_tree(*state);
	rig_start(&rig, &setup);
	request = rig_request(&rig, KODA_FS_OP_LIST, ".");
	rig_ask(&rig, &request, &answer);
	assert_int_equal(answer.frame.code, KODA_FS_STATUS_OK);
	assert_int_equal(answer.frame.n[0], 10);
	assert_int_equal(answer.data.len, sizeof(wanted));
	assert_memory_equal(answer.data.ptr, wanted, sizeof(wanted));
	koda_buf_clear(&answer.data);
	request = rig_request(&rig, KODA_FS_OP_LIST, "");
	request.text[0] = koda_span_of(".");
	request.n[0] = 2;
	rig_ask(&rig, &request, &answer);
	assert_int_equal(answer.frame.n[0], 2);
	assert_int_equal(answer.frame.flags, KODA_FS_TRUNCATED);
	assert_int_equal(answer.data.len, 20);
	RIG_EXPECT(OK, rig_do(&rig, KODA_FS_OP_LIST, "sub", 0));
	RIG_EXPECT(NOT_DIR, rig_do(&rig, KODA_FS_OP_LIST, "hello", 0));
	RIG_EXPECT(MISSING, rig_do(&rig, KODA_FS_OP_LIST, "nothing", 0));
	rig_answer_clear(&answer);
	assert_int_equal(rig_stop(&rig), 0);
}

/* W15 of link chains: as many as were asked for, and no more. */
static void chains_of_links_are_bounded(void **state)
{
	struct rig_setup setup = { .dir = *state, .link_depth = 8 };
	struct rig rig;

	(void)koda_make_file(*state, "root/0", "end");
	for (int i = 1; i <= 41; i++) {
		char name[16], target[8];

		(void)snprintf(name, sizeof(name), "root/%d", i);
		(void)snprintf(target, sizeof(target), "%d", i - 1);
		(void)koda_make_link(*state, name, target);
	}
	rig_start(&rig, &setup);
	assert_string_equal(rig_read(&rig, "8"), "end");
	RIG_EXPECT(LINK, rig_do(&rig, KODA_FS_OP_READ, "9", 0));
	assert_int_equal(rig_stop(&rig), 0);
	setup.link_depth = 40;
	rig_start(&rig, &setup);
	assert_string_equal(rig_read(&rig, "40"), "end");
	RIG_EXPECT(LINK, rig_do(&rig, KODA_FS_OP_READ, "41", 0));
	assert_int_equal(rig_stop(&rig), 0);
}

static void deadlines_and_cancels_end_requests(void **state)
{
	struct rig_setup setup = { .dir = *state };
	struct koda_fs_frame request, cancel;
	struct answer answer;
	struct rig rig;

	make_tree(*state);
	rig_start(&rig, &setup);
	request = rig_request(&rig, KODA_FS_OP_READ, "hello");
	request.n[1] = 1;
	rig_ask(&rig, &request, &answer);
	assert_int_equal(answer.frame.code, KODA_FS_STATUS_TIMEOUT);
	request = rig_request(&rig, KODA_FS_OP_READ, "hello");
	request.n[1] = koda_clock_now() + 60000000000U;
	rig_ask(&rig, &request, &answer);
	assert_int_equal(answer.frame.code, KODA_FS_STATUS_OK);
	koda_buf_clear(&answer.data);
	/* A CANCEL that is behind the request when that begins. */
	request = rig_request(&rig, KODA_FS_OP_READ, "hello");
	cancel = (struct koda_fs_frame){ .kind = KODA_FS_CANCEL, .id = request.id };
	{
		koda_auto_buf struct koda_buf both = KODA_BUF_INIT(4096);

		assert_int_equal(koda_fs_frame_add(&both, &request), KODA_OK);
		assert_int_equal(koda_fs_frame_add(&both, &cancel), KODA_OK);
		rig_send_bytes(&rig, both.ptr, both.len);
	}
	rig_await(&rig, request.id, &answer);
	assert_int_equal(answer.frame.code, KODA_FS_STATUS_CANCELLED);
	/* One of an id that is not there is nothing. */
	rig_send(&rig, &cancel);
	RIG_EXPECT(OK, rig_do(&rig, KODA_FS_OP_PING, "", 0));
	rig_answer_clear(&answer);
	assert_int_equal(rig_stop(&rig), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(files_are_read),
		RIG_TEST(nothing_outside_is_reached),
		RIG_TEST(denied_reads_are_refused),
		RIG_TEST(ranges_and_sizes),
		RIG_TEST(special_files_are_refused),
		RIG_TEST(stat_tells),
		RIG_TEST(directories_are_listed),
		RIG_TEST(chains_of_links_are_bounded),
		RIG_TEST(deadlines_and_cancels_end_requests),
	};

	return KODA_TEST_RUN(tests);
}
