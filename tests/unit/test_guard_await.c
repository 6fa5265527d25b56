/* SPDX-License-Identifier: MIT */
/* A guardian that has to wait for the end of its sandbox ends in time all the same, and what
 * it has to tidy up is done, but not before. */
#include "koda_test.h"

#include "../lib/child.h"

#include <fcntl.h>
#include <poll.h>

/* NOLINTNEXTLINE(bugprone-suspicious-include): the launcher is no library */
#include "../../libexec/stage2/await.c"

/* Above the numbers that the launcher's descriptors have. */
static void make_pipe(int ends[2])
{
	int low[2];

	assert_int_equal(pipe(low), 0);
	for (int i = 0; i < 2; i++) {
		ends[i] = fcntl(low[i], F_DUPFD_CLOEXEC, KODA_STAGE2_LIFE_FD + 10);
		assert_true(ends[i] >= 0);
		assert_int_equal(close(low[i]), 0);
	}
}

/* A process that ends when the other side of the pipe is closed. */
static pid_t start_slow(const int life[2])
{
	pid_t pid = fork();
	char byte;

	if (pid == 0) {
		(void)close(life[1]);
		(void)!read(life[0], &byte, 1);
		_exit(0);
	}
	assert_true(pid > 0);
	return pid;
}

/* Waits for the process as a guardian would, and tells by the pipe what it was told. */
static pid_t start_guardian(int pidfd, int patience_ms, const int life[2], int told)
{
	pid_t pid = fork();

	if (pid == 0) {
		(void)close(life[1]);
		(void)!write(told, koda_guard_await(pidfd, patience_ms) ? "1" : "0", 1);
		_exit(0);
	}
	assert_true(pid > 0);
	return pid;
}

static void somebody_else_waits_for_what_takes_long(void **state)
{
	static const struct {
		int patience_ms;
		bool slow;
	} cases[] = { { 0, true }, { 60000, false } };

	(void)state;
	KODA_EACH(c, cases) {
		int life[2];
		int told[2];
		pid_t slow;
		pid_t guardian;
		struct pollfd heard;
		char byte = '?';
		int pidfd;

		make_pipe(life);
		make_pipe(told);
		slow = start_slow(life);
		pidfd = (int)syscall(SYS_pidfd_open, slow, 0);
		assert_true(pidfd >= 0);
		guardian = start_guardian(pidfd, c->patience_ms, life, told[1]);
		assert_int_equal(close(told[1]), 0);
		heard = (struct pollfd){ .fd = told[0], .events = POLLIN };
		if (c->slow)
			assert_int_equal(waitpid(guardian, NULL, 0), guardian);
		assert_int_equal(poll(&heard, 1, 0), 0);
		assert_int_equal(close(life[1]), 0);
		assert_int_equal(read(told[0], &byte, 1), 1);
		assert_int_equal(byte, c->slow ? '0' : '1');
		assert_int_equal(waitpid(slow, NULL, 0), slow);
		if (!c->slow)
			assert_int_equal(waitpid(guardian, NULL, 0), guardian);
		assert_int_equal(close(pidfd), 0);
		assert_int_equal(close(life[0]), 0);
		assert_int_equal(close(told[0]), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(somebody_else_waits_for_what_takes_long),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
