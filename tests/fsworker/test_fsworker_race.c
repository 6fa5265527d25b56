/* SPDX-License-Identifier: MIT */
/*
 * T-100 Names are exchanged while the worker walks over them: directories for links out of the
 * root, files for links, both back again. Nothing outside is read or changed. KODA_FSWORKER_OPS
 * sets the number of operations.
 */
#include "rig.h"

#include <signal.h>
#include <sys/wait.h>

#define INSIDE  "inside"
#define OUTSIDE "outside"

static unsigned long operations(unsigned long usual)
{
	const char *given = getenv("KODA_FSWORKER_OPS");

	return given ? strtoul(given, NULL, 10) : usual;
}

static void make_tree(const char *dir)
{
	(void)koda_make_dir(dir, "out");
	(void)koda_make_file(dir, "out/leaf", OUTSIDE);
	(void)koda_make_file(dir, "out/only", OUTSIDE);
	(void)koda_make_dir(dir, "root/d");
	(void)koda_make_file(dir, "root/d/leaf", INSIDE);
	(void)koda_make_link(dir, "root/d/link", "../../out/leaf");
	(void)koda_make_link(dir, "root/way", "../out");
	(void)koda_make_link(dir, "root/dir-link", "d");
}

/* Exchanges names until it is killed. */
static void exchange(const char *dir)
{
	int root = open(koda_in(dir, "root"), O_PATH | O_DIRECTORY | O_CLOEXEC);
	int inner = open(koda_in(dir, "root/d"), O_PATH | O_DIRECTORY | O_CLOEXEC);

	for (;;) {
		/* The parent becomes a link out, the leaf becomes one, a link changes its target.
		 */
		(void)renameat2(root, "d", root, "way", RENAME_EXCHANGE);
		(void)renameat2(inner, "leaf", inner, "link", RENAME_EXCHANGE);
		(void)renameat2(root, "dir-link", root, "way", RENAME_EXCHANGE);
	}
}

static pid_t start_exchanging(const char *dir)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0)
		exchange(dir);
	return pid;
}

static void stop_exchanging(pid_t pid)
{
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static const struct {
	enum koda_fs_op op;
	const char *a, *b;
	uint32_t flags;
} asks[] = {
	{ KODA_FS_OP_READ, "d/leaf", "", 0 },
	{ KODA_FS_OP_WRITE, "d/leaf", "", 0 },
	{ KODA_FS_OP_READ, "d/link", "", 0 },
	{ KODA_FS_OP_WRITE, "d/leaf", "", KODA_FS_IN_PLACE },
	{ KODA_FS_OP_READ, "dir-link/leaf", "", 0 },
	{ KODA_FS_OP_EDIT, "d/leaf", "side", 0 },
	{ KODA_FS_OP_WRITE, "dir-link/new", "", KODA_FS_PARENTS },
	{ KODA_FS_OP_LIST, "d", "", 0 },
	{ KODA_FS_OP_MKDIR, "d/made/below", "", KODA_FS_PARENTS },
	{ KODA_FS_OP_RENAME, "d/leaf", "d/moved", 0 },
	{ KODA_FS_OP_RENAME, "d/moved", "d/leaf", 0 },
	{ KODA_FS_OP_REMOVE, "d/made", "", KODA_FS_RECURSIVE },
	{ KODA_FS_OP_REMOVE, "d/only", "", 0 },
	{ KODA_FS_OP_REMOVE, "way/only", "", 0 },
	{ KODA_FS_OP_GREP, "d", "side", 0 },
	{ KODA_FS_OP_GREP, ".", "side", 0 },
	{ KODA_FS_OP_STAT, "d/leaf", "", KODA_FS_FOLLOW },
};

/* What the replies to all operations had in common. */
struct tally {
	unsigned long done;
	unsigned long leaks; /* content that is only outside */
};

static void ask_once(struct rig *rig, size_t i, struct tally *tally)
{
	struct koda_fs_frame request = rig_request(rig, asks[i].op, asks[i].a);
	struct answer answer;

	request.text[1] = koda_span_of(asks[i].b);
	request.flags = asks[i].flags;
	rig_send(rig, &request);
	if (asks[i].op == KODA_FS_OP_WRITE)
		rig_send_content(rig, request.id, INSIDE, strlen(INSIDE));
	rig_await(rig, request.id, &answer);
	tally->done += answer.frame.code == KODA_FS_STATUS_OK;
	/* "only" is a name that is only outside. */
	if (answer.data.len > 0 &&
	    (memmem(answer.data.ptr, answer.data.len, OUTSIDE, strlen(OUTSIDE)) ||
	     memmem(answer.data.ptr, answer.data.len, "only", strlen("only"))))
		tally->leaks++;
	rig_answer_clear(&answer);
}

static struct tally ask_all(struct rig *rig, unsigned long count)
{
	struct tally tally = { 0 };

	for (unsigned long i = 0; i < count; i++)
		ask_once(rig, i % KODA_ARRAY_LEN(asks), &tally);
	return tally;
}

static void nothing_lands_outside(void **state)
{
	struct rig_setup setup = { .dir = *state };
	struct stat before[2], after[2];
	struct tally tally;
	struct rig rig;
	pid_t pid;

	make_tree(*state);
	assert_int_equal(stat(koda_in(*state, "out"), &before[0]), 0);
	assert_int_equal(stat(koda_in(*state, "out/leaf"), &before[1]), 0);
	rig_start(&rig, &setup);
	pid = start_exchanging(*state);
	tally = ask_all(&rig, operations(2000));
	stop_exchanging(pid);
	assert_int_equal(rig_stop(&rig), 0);
	print_message("# %lu done\n", tally.done);
	assert_true(tally.done > 0);
	assert_int_equal(tally.leaks, 0);
	/* No name was added or removed there, and no inode changed. */
	assert_int_equal(stat(koda_in(*state, "out"), &after[0]), 0);
	assert_int_equal(stat(koda_in(*state, "out/leaf"), &after[1]), 0);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(after[i].st_ino, before[i].st_ino);
		assert_memory_equal(&after[i].st_ctim, &before[i].st_ctim,
				    sizeof(after[i].st_ctim));
	}
	assert_string_equal(rig_content(koda_in(*state, "out/leaf")), OUTSIDE);
	assert_string_equal(rig_content(koda_in(*state, "out/only")), OUTSIDE);
}

/* The twin: with a root there, the exchanges do lead outside. */
static void the_exchanges_lead_outside(void **state)
{
	struct rig_setup setup = { .dir = *state,
				   .roots = { "root", "out" },
				   .rules = { { "root", MARK(ALLOW_WRITE) } } };
	struct tally tally = { 0 };
	struct rig rig;
	pid_t pid;

	make_tree(*state);
	rig_start(&rig, &setup);
	pid = start_exchanging(*state);
	for (int rounds = 0; rounds < 1000 && tally.leaks == 0; rounds++)
		tally = ask_all(&rig, KODA_ARRAY_LEN(asks));
	stop_exchanging(pid);
	assert_int_equal(rig_stop(&rig), 0);
	assert_true(tally.leaks > 0);
}

/* Whenever the worker is killed, a file is the old one or the new one. */
static void a_killed_worker_tears_nothing(void **state)
{
	const size_t size = (size_t)256 << 10;
	struct rig_setup setup = { .dir = *state };
	struct koda_rng rng = koda_rng_new();
	koda_auto_free char *content = malloc(size);
	koda_auto_free char *seen = malloc(size + 1);
	unsigned long kills = operations(2000) / 20;
	unsigned long changed = 0;
	char now = 'a';

	assert_true(content && seen);
	memset(content, now, size);
	for (unsigned long i = 0; i < kills; i++) {
		struct koda_fs_frame request;
		struct rig rig;
		int fd;

		rig_start(&rig, &setup);
		request = rig_request(&rig, KODA_FS_OP_WRITE, "file");
		memset(content, 'a' + (char)(i % 26), size);
		rig_send(&rig, &request);
		rig_send_content(&rig, request.id, content, size);
		(void)usleep((useconds_t)koda_rng_below(&rng, 8000));
		assert_int_equal(kill(rig.pid, SIGKILL), 0);
		assert_int_equal(rig_wait_end(&rig), -1);
		fd = open(koda_in(*state, "root/file"), O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			continue; /* never written yet */
		assert_int_equal(read(fd, seen, size + 1), (ssize_t)size);
		(void)close(fd);
		for (size_t at = 1; at < size; at++)
			assert_true(seen[at] == seen[0]);
		assert_true(seen[0] == content[0] || seen[0] == now);
		changed += seen[0] != now;
		now = seen[0];
	}
	print_message("# %lu of %lu writes took place\n", changed, kills);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(nothing_lands_outside),
		RIG_TEST(the_exchanges_lead_outside),
		RIG_TEST(a_killed_worker_tears_nothing),
	};

	return KODA_TEST_RUN(tests);
}
