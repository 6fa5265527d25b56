/* SPDX-License-Identifier: MIT */
/* T-32, T-99 placeholders that a run leaves to others: by which locks, and what the journal says.
 */
#include "koda_test.h"

#include "../lib/scratch.h"
#include "base/buf.h"
#include "wire/op_encode.h"

#include <signal.h>
#include <sys/wait.h>

/* NOLINTBEGIN(bugprone-suspicious-include): the launcher is no library */
#include "../../libexec/stage2/guardian/handover.c"
#include "../../libexec/stage2/guardian/journal.c"
#include "../../libexec/stage2/guardian/state.c"
/* NOLINTEND(bugprone-suspicious-include) */

/* What the run has reserved, and its directory. */
static struct reservation reserved[4];
static size_t reserved_count;

void stage2_reservation_remove(const struct reservation *reservation)
{
	(void)unlinkat(reservation->parent, reservation->name, 0);
}

int stage2_reservation_open_parent(const struct reservation *reservation)
{
	size_t len = (size_t)(reservation->name - reservation->op.text1.ptr) - 1;
	char parent[4096];

	assert_true(len < sizeof(parent));
	memcpy(parent, reservation->op.text1.ptr, len);
	parent[len] = '\0';
	return open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

uint64_t stage2_clock_now(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* How long the guardian has, in all. */
static uint64_t guard_ms = 4000;

uint64_t stage2_clock_deadline(void)
{
	return stage2_clock_now() + guard_ms;
}

static int open_dir(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

/* The journal is below dir/state. */
static void use_journal(const char *dir)
{
	static struct koda_buf bytes = KODA_BUF_INIT(KODA_OP_PLAN_MAX);
	const char *state = koda_in(dir, "state/koda/placeholders");
	const struct koda_op op = { .kind = KODA_OP_JOURNAL, .text1 = koda_span_of(state) };
	static struct plan plan;

	bytes.len = 0;
	assert_int_equal(koda_ops_add(&bytes, &op), KODA_OK);
	plan = (struct plan){ bytes.ptr, bytes.len };
	stage2_journal_use(&plan);
}

static void touch(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(close(fd), 0);
}

/* A run that has reserved a name in dir/project; the descriptor has the shared lock. */
static int begin_run(const char *dir, const char *name)
{
	static char path[4096];
	int parent = open_dir(koda_in(dir, "project"));

	(void)snprintf(path, sizeof(path), "%s", koda_in(dir, name));
	assert_int_equal(flock(parent, LOCK_SH | LOCK_NB), 0);
	touch(path);
	reserved[0] = (struct reservation){ .op = { .kind = KODA_OP_PLACEHOLDER,
						    .text1 = koda_span_of(path),
						    .text2 = koda_span_of("") },
					    .name = strrchr(path, '/') + 1,
					    .parent = parent,
					    .made = true };
	reserved_count = 1;
	return parent;
}

static void end_run(int parent)
{
	stage2_handover_undo(reserved, reserved_count);
	assert_int_equal(close(parent), 0);
	reserved_count = 0;
}

static bool exists(const char *dir, const char *name)
{
	return access(koda_in(dir, name), F_OK) == 0;
}

/* How many files the journal has, and how many bytes in all. */
static int count_journals(const char *dir, off_t *ret_bytes)
{
	DIR *store = opendir(koda_in(dir, "state/koda/placeholders"));
	const struct dirent *entry;
	int count = 0;

	*ret_bytes = 0;
	while (store && (entry = readdir(store))) {
		struct stat st;

		if (entry->d_name[0] == '.')
			continue;
		assert_int_equal(fstatat(dirfd(store), entry->d_name, &st, 0), 0);
		*ret_bytes += st.st_size;
		count++;
	}
	if (store)
		assert_int_equal(closedir(store), 0);
	return count;
}

static void expect_journals(const char *dir, int want)
{
	off_t bytes;

	assert_int_equal(count_journals(dir, &bytes), want);
}

static void prepare(const char *dir)
{
	(void)koda_make_dir(dir, "project");
	use_journal(dir);
}

static void who_is_alone_removes_and_writes_nothing(void **state)
{
	prepare(*state);
	end_run(begin_run(*state, "project/a"));
	assert_false(exists(*state, "project/a"));
	assert_false(exists(*state, "state"));
}

static void the_last_run_removes_what_others_left(void **state)
{
	int other;
	off_t before;
	off_t after;

	prepare(*state);
	other = open_dir(koda_in(*state, "project"));
	assert_int_equal(flock(other, LOCK_SH), 0);
	end_run(begin_run(*state, "project/a"));
	assert_true(exists(*state, "project/a"));
	assert_int_equal(count_journals(*state, &before), 1);
	/* Each name once. */
	end_run(begin_run(*state, "project/a"));
	assert_int_equal(count_journals(*state, &after), 1);
	assert_int_equal(after, before);
	assert_int_equal(close(other), 0);
	end_run(begin_run(*state, "project/b"));
	assert_false(exists(*state, "project/a") || exists(*state, "project/b"));
	expect_journals(*state, 0);
}

static void an_exclusive_lock_of_somebody_else_is_not_waited_for_without_end(void **state)
{
	int other;
	int own;

	prepare(*state);
	own = begin_run(*state, "project/a");
	other = open_dir(koda_in(*state, "project"));
	assert_int_equal(flock(own, LOCK_UN), 0);
	assert_int_equal(flock(other, LOCK_EX | LOCK_NB), 0);
	end_run(own);
	assert_true(exists(*state, "project/a"));
	stage2_handover_sweep(UINT64_MAX);
	assert_true(exists(*state, "project/a"));
	assert_int_equal(close(other), 0);
	stage2_handover_sweep(UINT64_MAX);
	assert_false(exists(*state, "project/a"));
	expect_journals(*state, 0);
}

static void a_directory_that_could_not_be_locked_is_passed_over(void **state)
{
	uint64_t start;
	int own;

	prepare(*state);
	own = begin_run(*state, "project/a");
	/* The first one failed, and the last. */
	reserved[1] = reserved[0];
	reserved[2] = reserved[0];
	reserved[0].parent = reserved[2].parent = -1;
	reserved[0].made = reserved[2].made = false;
	reserved_count = 3;
	start = stage2_clock_now();
	end_run(own);
	assert_true(stage2_clock_now() - start < UNDO_MS / 2);
	assert_false(exists(*state, "project/a"));
}

static void nothing_is_removed_while_a_process_lives(void **state)
{
	int life[2];
	pid_t pid;

	prepare(*state);
	assert_int_equal(pipe(life), 0);
	pid = fork();
	if (pid == 0) {
		char byte;

		(void)close(life[1]);
		(void)!read(life[0], &byte, 1);
		_exit(0);
	}
	(void)begin_run(*state, "project/a");
	stage2_handover_postpone(reserved, reserved_count, pid);
	assert_int_equal(close(reserved[0].parent), 0);
	end_run(begin_run(*state, "project/b"));
	stage2_handover_sweep(UINT64_MAX);
	assert_true(exists(*state, "project/a") && exists(*state, "project/b"));
	assert_int_equal(close(life[1]), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	stage2_handover_sweep(UINT64_MAX);
	assert_false(exists(*state, "project/a") || exists(*state, "project/b"));
	assert_int_equal(close(life[0]), 0);
	expect_journals(*state, 0);
}

static void a_sweep_ends_in_time(void **state)
{
	uint64_t start;
	int journal;
	int other;

	prepare(*state);
	other = open_dir(koda_in(*state, "project"));
	assert_int_equal(flock(other, LOCK_SH), 0);
	end_run(begin_run(*state, "project/a"));
	assert_int_equal(close(other), 0);
	stage2_handover_sweep(stage2_clock_now());
	assert_true(exists(*state, "project/a"));
	/* Locked by a guardian that somebody has stopped. */
	touch(koda_in(*state, "state/koda/placeholders/1-1"));
	journal = open(koda_in(*state, "state/koda/placeholders/1-1"), O_RDWR | O_CLOEXEC);
	assert_int_equal(flock(journal, LOCK_EX | LOCK_NB), 0);
	start = stage2_clock_now();
	stage2_handover_sweep(start + 100);
	assert_true(stage2_clock_now() - start < 500);
	assert_int_equal(close(journal), 0);
	stage2_handover_sweep(stage2_clock_now() + 10000);
	assert_false(exists(*state, "project/a"));
}

/* What a journal says that cannot be read may forbid to remove anything. */
static void a_journal_that_is_locked_is_waited_for_as_long_as_the_guardian_may(void **state)
{
	char name[STAGE2_JOURNAL_NAME];
	uint64_t start;
	int journal;
	int other;
	int store;
	int own;

	prepare(*state);
	other = open_dir(koda_in(*state, "project"));
	assert_int_equal(flock(other, LOCK_SH), 0);
	end_run(begin_run(*state, "project/a"));
	assert_true(stage2_journal_name(other, name));
	assert_int_equal(close(other), 0);
	store = open_dir(koda_in(*state, "state/koda/placeholders"));
	journal = openat(store, name, O_RDWR | O_CLOEXEC);
	assert_int_equal(flock(journal, LOCK_EX | LOCK_NB), 0);
	own = begin_run(*state, "project/b");
	guard_ms = 100;
	start = stage2_clock_now();
	end_run(own);
	assert_true(stage2_clock_now() - start < 500);
	guard_ms = 4000;
	assert_true(exists(*state, "project/a") && exists(*state, "project/b"));
	assert_int_equal(close(journal), 0);
	assert_int_equal(close(store), 0);
	end_run(begin_run(*state, "project/b"));
	assert_false(exists(*state, "project/a") || exists(*state, "project/b"));
}

static void what_was_written_in_part_is_passed_over(void **state)
{
	static const char cut[] = "n\0/p/a\0nonsense\0/\0f.\n\0/p";
	struct stage2_journal journal;
	struct koda_op op;
	size_t at = 0;
	int dir;

	prepare(*state);
	dir = open_dir(koda_in(*state, "project"));
	assert_true(stage2_journal_open(&journal, dir, NULL, true));
	assert_int_equal(write(journal.fd, cut, sizeof(cut) - 1), sizeof(cut) - 1);
	stage2_journal_close(&journal);
	assert_true(stage2_journal_open(&journal, dir, NULL, false));
	op = (struct koda_op){ .kind = KODA_OP_PLACEHOLDER_FILE,
			       .text1 = koda_span_of("/p/c"),
			       .text2 = koda_span_of("./\n") };
	assert_true(stage2_journal_add(&journal, &op));
	stage2_journal_close(&journal);
	assert_true(stage2_journal_open(&journal, dir, NULL, false));
	assert_true(stage2_journal_next(&journal, &at, &op));
	assert_int_equal(op.kind, KODA_OP_PLACEHOLDER);
	assert_string_equal(op.text1.ptr, "/p/a");
	assert_true(stage2_journal_next(&journal, &at, &op));
	assert_int_equal(op.kind, KODA_OP_PLACEHOLDER_FILE);
	assert_string_equal(op.text1.ptr, "/p/c");
	assert_string_equal(op.text2.ptr, "./\n");
	assert_false(stage2_journal_next(&journal, &at, &op));
	stage2_journal_remove(&journal);
	assert_int_equal(close(dir), 0);
	expect_journals(*state, 0);
}

static void a_directory_that_was_moved_keeps_its_journal(void **state)
{
	int other;

	prepare(*state);
	other = open_dir(koda_in(*state, "project"));
	assert_int_equal(flock(other, LOCK_SH), 0);
	end_run(begin_run(*state, "project/a"));
	assert_int_equal(close(other), 0);
	assert_int_equal(rename(koda_in(*state, "project"), koda_in(*state, "moved")), 0);
	(void)koda_make_dir(*state, "project");
	touch(koda_in(*state, "project/a"));
	stage2_handover_sweep(UINT64_MAX);
	assert_true(exists(*state, "project/a") && exists(*state, "moved/a"));
	assert_int_equal(remove(koda_in(*state, "project/a")), 0);
	assert_int_equal(rmdir(koda_in(*state, "project")), 0);
	assert_int_equal(rename(koda_in(*state, "moved"), koda_in(*state, "project")), 0);
	end_run(begin_run(*state, "project/b"));
	assert_false(exists(*state, "project/a"));
	expect_journals(*state, 0);
}

static void a_journal_that_others_can_get_at_is_not_used(void **state)
{
	int other;

	prepare(*state);
	(void)koda_make_dir(*state, "state");
	(void)koda_make_dir(*state, "state/koda");
	(void)koda_make_dir(*state, "state/koda/placeholders");
	assert_int_equal(chmod(koda_in(*state, "state/koda/placeholders"), 0755), 0);
	other = open_dir(koda_in(*state, "project"));
	assert_int_equal(flock(other, LOCK_SH), 0);
	end_run(begin_run(*state, "project/a"));
	expect_journals(*state, 0);
	assert_int_equal(close(other), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		KODA_SCRATCH_TEST(who_is_alone_removes_and_writes_nothing),
		KODA_SCRATCH_TEST(the_last_run_removes_what_others_left),
		KODA_SCRATCH_TEST(an_exclusive_lock_of_somebody_else_is_not_waited_for_without_end),
		KODA_SCRATCH_TEST(a_directory_that_could_not_be_locked_is_passed_over),
		KODA_SCRATCH_TEST(nothing_is_removed_while_a_process_lives),
		KODA_SCRATCH_TEST(a_sweep_ends_in_time),
		KODA_SCRATCH_TEST(
			a_journal_that_is_locked_is_waited_for_as_long_as_the_guardian_may),
		KODA_SCRATCH_TEST(what_was_written_in_part_is_passed_over),
		KODA_SCRATCH_TEST(a_directory_that_was_moved_keeps_its_journal),
		KODA_SCRATCH_TEST(a_journal_that_others_can_get_at_is_not_used),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
