/* SPDX-License-Identifier: MIT */
/* T-106. What code that runs in the worker can do no more, and could before. */
#include "../unit/koda_test.h"

#include "lock.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int make_socket(void)
{
	return socket(AF_UNIX, SOCK_STREAM, 0);
}

static int make_network_socket(void)
{
	return socket(AF_INET, SOCK_STREAM, 0);
}

static int make_pair(void)
{
	int pair[2];

	return socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
}

/* Fails with ENOENT where execve is allowed. */
static int execute(void)
{
	char *const none[] = { NULL };

	return execve("/nonexistent", none, none) < 0 && errno == ENOENT ? 0 : -1;
}

static int execute_descriptor(void)
{
	char *const none[] = { NULL };

	return (int)syscall(SYS_execveat, -1, "/nonexistent", none, none, 0) < 0 && errno == ENOENT
		       ? 0
		       : -1;
}

static int make_process(void)
{
	pid_t child = fork();

	if (child == 0)
		_exit(0);
	return child < 0 ? -1 : waitpid(child, NULL, 0) < 0 ? -1 : 0;
}

static int read_memory(void)
{
	return (int)syscall(SYS_process_vm_readv, getpid(), NULL, 0, NULL, 0, 0);
}

static int make_memory_file(void)
{
	return (int)syscall(SYS_memfd_create, "x", 0);
}

static int open_file(void)
{
	return open("/dev/null", O_RDONLY);
}

static const struct act {
	const char *name;
	int (*act)(void);
	int errno_after; /* 0: it works as before */
} acts[] = {
	{ "a Unix socket", make_socket, EPERM },
	{ "a network socket", make_network_socket, EPERM },
	{ "a pair of sockets", make_pair, EPERM },
	{ "execve", execute, EPERM },
	{ "execveat", execute_descriptor, EPERM },
	{ "a process", make_process, EPERM },
	{ "memory of a process", read_memory, EPERM },
	{ "a memory file", make_memory_file, EPERM },
	{ "a file", open_file, 0 },
};

/* Runs in a process of its own. Returns 0, or the number of the act that went wrong. */
static int try_all(bool locked)
{
	if (locked && fsworker_lock(NULL) < 0)
		return 100;
	for (size_t i = 0; i < sizeof(acts) / sizeof(acts[0]); i++) {
		int r;

		errno = 0;
		r = acts[i].act();
		if (locked && acts[i].errno_after ? r >= 0 || errno != acts[i].errno_after : r < 0)
			return (int)i + 1;
	}
	return 0;
}

static void expect_all(bool locked)
{
	int status = -1;
	pid_t child = fork();

	assert_true(child >= 0);
	if (child == 0)
		_exit(try_all(locked));
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) > 0 && WEXITSTATUS(status) < 100)
		fail_msg("%s, locked: %d", acts[WEXITSTATUS(status) - 1].name, locked);
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void all_is_possible_before(void **state)
{
	(void)state;
	expect_all(false);
}

static void files_alone_are_possible_afterwards(void **state)
{
	(void)state;
	expect_all(true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_is_possible_before),
		cmocka_unit_test(files_alone_are_possible_afterwards),
	};

	return KODA_TEST_RUN(tests);
}
