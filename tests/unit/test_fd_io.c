/* SPDX-License-Identifier: MIT */
/* Reading and writing whole: ceilings, pipes that make one wait, signals, peers that are gone. */
#include "koda_test.h"

#include "../lib/child.h"
#include "base/fd.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <time.h>

static const struct {
	const char *name;
	size_t len;
	size_t max;
	int code;
} lengths[] = {
	{ "nothing", 0, 10, KODA_OK },
	{ "nothing allowed, nothing there", 0, 0, KODA_OK },
	{ "nothing allowed", 1, 0, KODA_E_LIMIT },
	{ "below", 9, 10, KODA_OK },
	{ "exactly max", 10, 10, KODA_OK },
	{ "max and one", 11, 10, KODA_E_LIMIT },
	{ "exactly one chunk", 65536, 65536, KODA_OK },
	{ "a chunk and one", 65537, 65536, KODA_E_LIMIT },
	{ "many chunks, exactly max", 300000, 300000, KODA_OK },
	{ "many chunks, max and one", 300001, 300000, KODA_E_LIMIT },
};

static void read_all_reads_up_to_its_ceiling(void **state)
{
	(void)state;
	KODA_EACH(row, lengths) {
		koda_auto_fd int fd = memfd_create("test", MFD_CLOEXEC);
		koda_auto_buf struct koda_buf out = KODA_BUF_INIT(row->max);
		char *bytes = malloc(row->len + 1);
		struct koda_error err = { 0 };

		assert_non_null(bytes);
		for (size_t i = 0; i < row->len; i++)
			bytes[i] = (char)(i * 31 >> 3);
		KODA_ASSERT_OK(koda_fd_write_all(fd, bytes, row->len, &err), err);
		assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
		KODA_EXPECT(row->name, koda_fd_read_all(fd, &out, &err) == row->code);
		KODA_EXPECT(row->name, err.code == row->code);
		if (row->code == KODA_OK && row->len > 0)
			KODA_EXPECT(row->name,
				    out.len == row->len && memcmp(out.ptr, bytes, row->len) == 0);
		free(bytes);
	}
}

static void read_all_appends(void **state)
{
	koda_auto_fd int fd = memfd_create("test", MFD_CLOEXEC);
	koda_auto_buf struct koda_buf out = KODA_BUF_INIT(6);
	struct koda_error err = { 0 };

	(void)state;
	assert_int_equal(koda_buf_add(&out, "abc", 3), KODA_OK);
	assert_int_equal(pwrite(fd, "d\0f", 3, 0), 3);
	KODA_ASSERT_OK(koda_fd_read_all(fd, &out, &err), err);
	assert_int_equal(out.len, 6);
	assert_memory_equal(out.ptr, "abcd\0f", 7);
}

static void read_all_reports_what_cannot_be_read(void **state)
{
	koda_auto_fd int dir = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	koda_auto_fd int write_only = open("/dev/null", O_WRONLY | O_CLOEXEC);
	koda_auto_buf struct koda_buf out = KODA_BUF_INIT(100);
	struct koda_error err = { 0 };

	(void)state;
	KODA_ASSERT_FAILS(KODA_E_SYS, koda_fd_read_all(dir, &out, &err), err);
	assert_int_equal(err.sys_errno, EISDIR);
	KODA_ASSERT_FAILS(KODA_E_SYS, koda_fd_read_all(write_only, &out, &err), err);
	assert_int_equal(err.sys_errno, EBADF);
	KODA_ASSERT_FAILS(KODA_E_SYS, koda_fd_read_all(-1, &out, &err), err);
	assert_int_equal(out.len, 0);
}

/* Runs body(arg) in a child and goes on beside it; the child's number. */
static pid_t start(int (*body)(void *arg), void *arg)
{
	pid_t pid = fork();

	if (pid == 0) {
		int r = body(arg);

		if (__gcov_dump)
			__gcov_dump();
		_exit(r);
	}
	assert_true(pid > 0);
	return pid;
}

static void assert_ends_well(pid_t pid)
{
	int status = -1;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

enum {
	AMOUNT = 500000
}; /* does not fit into a pipe */

static int feed_in_pieces(void *arg)
{
	struct koda_error err = { 0 };

	for (size_t done = 0; done < AMOUNT; done += 1000) {
		(void)sched_yield();
		KODA_CHILD_CHECK(koda_fd_write_all(*(int *)arg, (char[1000]){ 0 }, 1000, &err) ==
				 KODA_OK);
	}
	return 0;
}

static void a_non_blocking_pipe_that_is_empty_is_waited_for(void **state)
{
	koda_auto_buf struct koda_buf out = KODA_BUF_INIT(AMOUNT);
	struct koda_error err = { 0 };
	koda_auto_fd int r = -1;
	koda_auto_fd int w = -1;
	pid_t pid;

	(void)state;
	KODA_ASSERT_OK(koda_fd_pipe(&r, &w, &err), err);
	assert_int_equal(fcntl(r, F_SETFL, O_NONBLOCK), 0);
	pid = start(feed_in_pieces, &w);
	koda_fd_close(&w);
	KODA_ASSERT_OK(koda_fd_read_all(r, &out, &err), err);
	assert_int_equal(out.len, AMOUNT);
	assert_ends_well(pid);
}

static int drain(void *arg)
{
	koda_auto_buf struct koda_buf out = KODA_BUF_INIT(AMOUNT);

	KODA_CHILD_CHECK(koda_fd_read_all(*(int *)arg, &out, NULL) == KODA_OK);
	KODA_CHILD_CHECK(out.len == AMOUNT && out.ptr[AMOUNT - 1] == 'z');
	return 0;
}

static void a_non_blocking_pipe_that_is_full_is_waited_for(void **state)
{
	static char bytes[AMOUNT];
	struct koda_error err = { 0 };
	koda_auto_fd int r = -1;
	koda_auto_fd int w = -1;
	pid_t pid;

	(void)state;
	memset(bytes, 'z', sizeof(bytes));
	KODA_ASSERT_OK(koda_fd_pipe(&r, &w, &err), err);
	assert_int_equal(fcntl(w, F_SETFL, O_NONBLOCK), 0);
	pid = fork();
	if (pid == 0) {
		koda_fd_close(&w); /* or the end would never come */
		_exit(drain(&r));
	}
	KODA_ASSERT_OK(koda_fd_write_all(w, bytes, sizeof(bytes), &err), err);
	koda_fd_close(&w);
	assert_ends_well(pid);
}

static void nothing(int sig)
{
	(void)sig;
}

static int interrupt_then_feed(void *arg)
{
	const struct timespec moment = { .tv_nsec = 2000000 };

	for (int i = 0; i < 10; i++) {
		(void)nanosleep(&moment, NULL);
		KODA_CHILD_CHECK(kill(getppid(), SIGUSR1) == 0);
	}
	KODA_CHILD_CHECK(write(*(int *)arg, "x", 1) == 1);
	return 0;
}

static void a_signal_does_not_end_a_read(void **state)
{
	struct sigaction catch = { .sa_handler = nothing }; /* and no SA_RESTART */
	koda_auto_buf struct koda_buf out = KODA_BUF_INIT(10);
	struct koda_error err = { 0 };
	struct sigaction before;
	koda_auto_fd int r = -1;
	koda_auto_fd int w = -1;
	pid_t pid;

	(void)state;
	assert_int_equal(sigaction(SIGUSR1, &catch, &before), 0);
	KODA_ASSERT_OK(koda_fd_pipe(&r, &w, &err), err);
	pid = start(interrupt_then_feed, &w);
	koda_fd_close(&w);
	KODA_ASSERT_OK(koda_fd_read_all(r, &out, &err), err);
	assert_string_equal(out.ptr, "x");
	assert_ends_well(pid);
	assert_int_equal(sigaction(SIGUSR1, &before, NULL), 0);
}

static int write_to_closed_pipe(void *arg)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN };
	struct koda_error err = { 0 };
	int r;
	int w;

	(void)arg;
	KODA_CHILD_CHECK(sigaction(SIGPIPE, &ignore, NULL) == 0);
	KODA_CHILD_CHECK(koda_fd_pipe(&r, &w, &err) == KODA_OK);
	koda_fd_close(&r);
	KODA_CHILD_CHECK(koda_fd_write_all(w, "x", 1, &err) == KODA_E_SYS);
	KODA_CHILD_CHECK(err.sys_errno == EPIPE);
	return 0;
}

static void a_reader_that_went_away_is_an_error(void **state)
{
	(void)state;
	assert_int_equal(koda_child_run(write_to_closed_pipe, NULL), 0);
}

static void write_all_reports_what_cannot_be_written(void **state)
{
	koda_auto_fd int read_only = open("/dev/null", O_RDONLY | O_CLOEXEC);
	koda_auto_fd int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
	struct koda_error err = { 0 };

	(void)state;
	KODA_ASSERT_FAILS(KODA_E_SYS, koda_fd_write_all(read_only, "x", 1, &err), err);
	assert_int_equal(err.sys_errno, EBADF);
	KODA_ASSERT_FAILS(KODA_E_SYS, koda_fd_write_all(full, "x", 1, &err), err);
	assert_int_equal(err.sys_errno, ENOSPC);
}

static void writing_nothing_touches_no_descriptor(void **state)
{
	struct koda_error err = { 0 };

	(void)state;
	KODA_ASSERT_OK(koda_fd_write_all(-1, NULL, 0, &err), err);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(read_all_reads_up_to_its_ceiling),
		cmocka_unit_test(read_all_appends),
		cmocka_unit_test(read_all_reports_what_cannot_be_read),
		cmocka_unit_test(a_non_blocking_pipe_that_is_empty_is_waited_for),
		cmocka_unit_test(a_non_blocking_pipe_that_is_full_is_waited_for),
		cmocka_unit_test(a_signal_does_not_end_a_read),
		cmocka_unit_test(a_reader_that_went_away_is_an_error),
		cmocka_unit_test(write_all_reports_what_cannot_be_written),
		cmocka_unit_test(writing_nothing_touches_no_descriptor),
	};

	return KODA_TEST_RUN(tests);
}
