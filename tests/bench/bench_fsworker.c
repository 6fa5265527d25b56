/* SPDX-License-Identifier: MIT */
/*
 * The file worker beside the calls that it saves: reads and atomic writes of 4 KiB in this process,
 * one at a time through the worker, and with many requests outstanding; glob and grep beside find,
 * fd and ripgrep with one thread, where they are installed. The worker is
 * not in a sandbox here, which costs each system call a filter more. Beside the time that passes is
 * that of the processors, of both processes together: other load does not change it.
 */
#include "bench.h"

#include "../fsworker/rig.h"

#include <sched.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>

#define FILES    200
#define AWAKE_NS 50000
#define BYTES    4096
#define ROUNDS   9
#define BATCH    20
#define DIRS     1000
#define IN_EACH  100

static char content[BYTES];

struct way {
	const char *name;
	bool (*run)(struct rig *rig, const char *dir); /* false: there is no such program */
};

static const char *file_name(int i)
{
	static char name[32];

	(void)snprintf(name, sizeof(name), "files/%d", i);
	return name;
}

static bool read_here(struct rig *rig, const char *dir)
{
	static char bytes[BYTES];

	(void)rig;
	(void)dir;
	for (int i = 0; i < FILES; i++) {
		int fd = open(file_name(i), O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
		struct stat st;

		assert_int_equal(fstat(fd, &st), 0);
		assert_int_equal(read(fd, bytes, BYTES), BYTES);
		(void)close(fd);
	}
	return true;
}

static bool write_here(struct rig *rig, const char *dir)
{
	(void)rig;
	(void)dir;
	for (int i = 0; i < FILES; i++) {
		int fd = open("files/draft", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);

		assert_int_equal(write(fd, content, BYTES), BYTES);
		assert_int_equal(fsync(fd), 0);
		(void)close(fd);
		assert_int_equal(rename("files/draft", file_name(i)), 0);
	}
	return true;
}

/* Appends a request, with the content of a WRITE. */
static void add_request(struct rig *rig, enum koda_fs_op op, int i, struct koda_buf *out)
{
	const struct koda_fs_frame request = rig_request(rig, op, file_name(i));
	const struct koda_fs_frame data = { .kind = KODA_FS_DATA,
					    .id = request.id,
					    .flags = KODA_FS_LAST,
					    .text = { { content, BYTES } } };

	assert_int_equal(koda_fs_frame_add(out, &request), KODA_OK);
	if (op == KODA_FS_OP_WRITE)
		assert_int_equal(koda_fs_frame_add(out, &data), KODA_OK);
}

/* Sends requests from first on in one call. */
static void send_requests(struct rig *rig, enum koda_fs_op op, int first, int count)
{
	static struct koda_buf out = KODA_BUF_INIT((size_t)1 << 20);

	out.len = 0;
	for (int i = first; i < first + count; i++)
		add_request(rig, op, i, &out);
	rig_send_bytes(rig, out.ptr, out.len);
}

/* Stays awake for a moment, as the library does. */
static void await_bytes(const struct rig *rig)
{
	uint64_t end = bench_now() + AWAKE_NS;
	char byte;

	if (rig->at < rig->in.len)
		return;
	while (recv(rig->socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && bench_now() < end)
		(void)sched_yield();
}

static void await_reply(struct rig *rig)
{
	struct koda_fs_frame frame;

	await_bytes(rig);

	do
		assert_true(rig_receive(rig, &frame));
	while (frame.kind != KODA_FS_REPLY);
	assert_int_equal(frame.code, KODA_FS_STATUS_OK);
}

static void run_one_at_a_time(struct rig *rig, enum koda_fs_op op)
{
	for (int i = 0; i < FILES; i++) {
		send_requests(rig, op, i, 1);
		await_reply(rig);
	}
}

/* Keeps up to two batches outstanding. */
static void run_pipelined(struct rig *rig, enum koda_fs_op op)
{
	send_requests(rig, op, 0, BATCH);
	for (int i = BATCH; i <= FILES; i += BATCH) {
		if (i < FILES)
			send_requests(rig, op, i, BATCH);
		for (int j = 0; j < BATCH; j++)
			await_reply(rig);
	}
}

static bool read_through(struct rig *rig, const char *dir)
{
	(void)dir;
	run_one_at_a_time(rig, KODA_FS_OP_READ);
	return true;
}

static bool read_pipelined(struct rig *rig, const char *dir)
{
	(void)dir;
	run_pipelined(rig, KODA_FS_OP_READ);
	return true;
}

static bool write_through(struct rig *rig, const char *dir)
{
	(void)dir;
	run_one_at_a_time(rig, KODA_FS_OP_WRITE);
	return true;
}

static bool write_pipelined(struct rig *rig, const char *dir)
{
	(void)dir;
	run_pipelined(rig, KODA_FS_OP_WRITE);
	return true;
}

/* Runs a program whose output goes nowhere. Returns false if it is not installed. */
static bool run_program(const char *dir, char *const argv[])
{
	posix_spawn_file_actions_t actions;
	pid_t pid;
	int status;
	int r;

	assert_int_equal(posix_spawn_file_actions_init(&actions), 0);
	(void)posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
	(void)posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
	(void)posix_spawn_file_actions_addchdir_np(&actions, dir);
	r = posix_spawnp(&pid, argv[0], &actions, NULL, argv, environ);
	(void)posix_spawn_file_actions_destroy(&actions);
	if (r != 0)
		return false;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return true;
}

#define PROGRAM(function, ...)                                                                     \
	static bool function(struct rig *rig, const char *dir)                                     \
	{                                                                                          \
		static const char *const argv[] = { __VA_ARGS__, NULL };                           \
                                                                                                   \
		(void)rig;                                                                         \
		return run_program(koda_in(dir, "root/tree"), (char *const *)(uintptr_t)argv);     \
	}

PROGRAM(grep_rg, "rg", "-j1", "--sort", "path", "-n", "needle [0-9]+ there", ".")
PROGRAM(grep_rg_unsorted, "rg", "-j1", "-n", "needle [0-9]+ there", ".")
PROGRAM(glob_fd, "fdfind", "-j1", "-g", "*7.c")
PROGRAM(glob_find, "find", ".", "-name", "*7.c")

static void search(struct rig *rig, enum koda_fs_op op, const char *pattern)
{
	struct koda_fs_frame request = rig_request(rig, op, "tree");
	struct answer answer;

	request.text[1] = koda_span_of(pattern);
	rig_ask(rig, &request, &answer);
	assert_int_equal(answer.frame.code, KODA_FS_STATUS_OK);
	assert_true(answer.frame.n[0] > 0);
	rig_answer_clear(&answer);
}

static bool grep_through(struct rig *rig, const char *dir)
{
	(void)dir;
	search(rig, KODA_FS_OP_GREP, "needle [0-9]+ there");
	return true;
}

static bool glob_through(struct rig *rig, const char *dir)
{
	(void)dir;
	search(rig, KODA_FS_OP_GLOB, "**/*7.c");
	return true;
}

static double seconds(const struct timeval *t)
{
	return (double)t->tv_sec + (double)t->tv_usec / 1e6;
}

/* Returns the processor time of this process, its programs and the worker, in microseconds. */
static double processor_time(const struct rig *rig)
{
	struct rusage self, children;
	struct timespec worker = { 0 };
	clockid_t clock;

	(void)getrusage(RUSAGE_SELF, &self);
	(void)getrusage(RUSAGE_CHILDREN, &children);
	if (clock_getcpuclockid(rig->pid, &clock) == 0)
		(void)clock_gettime(clock, &worker);
	return 1e6 *
	       (seconds(&self.ru_utime) + seconds(&self.ru_stime) + seconds(&children.ru_utime) +
		seconds(&children.ru_stime) + (double)worker.tv_sec + (double)worker.tv_nsec / 1e9);
}

/* Prints the ways of a group, each round all of them; ratios are to the first one. */
static void compare(struct rig *rig, const char *dir, const struct way *ways, size_t count,
		    size_t rounds, double per)
{
	double times[8][ROUNDS], used[8][ROUNDS];
	double first = 0, first_used = 0;
	bool has[8] = { false };

	for (size_t round = 0; round < rounds; round++) {
		for (size_t i = 0; i < count; i++) {
			double before = processor_time(rig);
			uint64_t start = bench_now();

			has[i] = ways[i].run(rig, dir);
			times[i][round] = (double)(bench_now() - start) / 1000 / per;
			used[i][round] = (processor_time(rig) - before) / per;
		}
	}
	for (size_t i = 0; i < count; i++) {
		double time = bench_percentiles(times[i], rounds).p50;
		double use = bench_percentiles(used[i], rounds).p50;

		if (!has[i]) {
			printf("%-44s not installed\n", ways[i].name);
			continue;
		}
		first = first > 0 ? first : time;
		first_used = first_used > 0 ? first_used : use;
		printf("%-44s p50 %10.1f us %6.2fx   processors %10.1f us %6.2fx\n", ways[i].name,
		       time, time / first, use, use / first_used);
	}
}

static void make_files(const char *dir)
{
	char name[64];

	(void)koda_make_dir(dir, "root/files");
	memset(content, 'x', sizeof(content));
	content[BYTES - 1] = '\0';
	for (int i = 0; i < FILES; i++) {
		FILE *file;

		(void)snprintf(name, sizeof(name), "root/%s", file_name(i));
		file = fopen(koda_in(dir, name), "we");
		assert_non_null(file);
		assert_int_equal(fwrite(content, 1, BYTES, file), BYTES);
		(void)fclose(file);
	}
}

/* DIRS directories with IN_EACH small files. */
static void make_tree(const char *dir)
{
	char name[64], text[1200];

	(void)koda_make_dir(dir, "root/tree");
	memset(text, 'y', sizeof(text));
	for (size_t i = 60; i < sizeof(text); i += 60)
		text[i] = '\n';
	text[sizeof(text) - 1] = '\0';
	for (int i = 0; i < DIRS; i++) {
		(void)snprintf(name, sizeof(name), "root/tree/%d", i);
		(void)koda_make_dir(dir, name);
		for (int j = 0; j < IN_EACH; j++) {
			bool has = j == 50;

			(void)snprintf(name, sizeof(name), "root/tree/%d/%d.c", i, j);
			if (has)
				memcpy(text + 600, "\nneedle 42 there\n", 17);
			(void)koda_make_file(dir, name, text);
			if (has)
				memset(text + 600, 'y', 17);
		}
	}
}

int main(void)
{
	static const struct way reads[] = {
		{ "read 4 KiB: in process", read_here },
		{ "read 4 KiB: worker, one at a time", read_through },
		{ "read 4 KiB: worker, 40 outstanding", read_pipelined },
	};
	static const struct way writes[] = {
		{ "write 4 KiB, fsync: in process", write_here },
		{ "write 4 KiB, fsync: worker, one at a time", write_through },
		{ "write 4 KiB, fsync: worker, 40 outstanding", write_pipelined },
	};
	static const struct way greps[] = {
		{ "grep, 100,000 files: rg -j1", grep_rg_unsorted },
		{ "grep, 100,000 files: rg -j1 --sort path", grep_rg },
		{ "grep, 100,000 files: worker", grep_through },
	};
	static const struct way globs[] = {
		{ "glob, 100,000 files: find", glob_find },
		{ "glob, 100,000 files: fdfind -j1", glob_fd },
		{ "glob, 100,000 files: worker", glob_through },
	};
	void *dir = NULL;
	struct rig_setup setup = { 0 };
	struct rig rig;

	(void)setvbuf(stdout, NULL, _IOLBF, 0);
	assert_int_equal(rig_setup_root(&dir), 0);
	setup.dir = dir;
	make_files(dir);
	assert_int_equal(chdir(koda_in(dir, "root")), 0);
	rig_start(&rig, &setup);
	compare(&rig, dir, reads, KODA_ARRAY_LEN(reads), ROUNDS, FILES);
	compare(&rig, dir, writes, KODA_ARRAY_LEN(writes), ROUNDS / 3, FILES);
	make_tree(dir);
	compare(&rig, dir, greps, KODA_ARRAY_LEN(greps), ROUNDS / 3, 1);
	compare(&rig, dir, globs, KODA_ARRAY_LEN(globs), ROUNDS / 3, 1);
	assert_int_equal(rig_stop(&rig), 0);
	assert_int_equal(chdir("/"), 0);
	return koda_scratch_teardown(&dir);
}
