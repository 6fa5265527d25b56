/* SPDX-License-Identifier: MIT */
/* This program is also the child it starts: with a probe's name as its argument it looks around
 * and tells what it was given. */
#include "koda_test.h"

#include "../lib/child.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/proc.h"

#include <fcntl.h>
#include <signal.h>

#define SELF "/proc/self/exe"

static char *const no_env[] = { NULL };

static int probe_signals(void)
{
	static const int signals[] = { SIGPIPE, SIGINT, SIGTERM, SIGUSR1, SIGCHLD, SIGHUP };
	struct sigaction now;
	sigset_t mask;

	if (sigprocmask(SIG_BLOCK, NULL, &mask) != 0 || !sigisemptyset(&mask))
		return 1;
	KODA_EACH(sig, signals)
		if (sigaction(*sig, NULL, &now) != 0 || now.sa_handler != SIG_DFL)
			return 2;
	return 0;
}

static void probe_list_fds(int to)
{
	DIR *dir = opendir("/proc/self/fd");
	const struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		if (entry->d_name[0] != '.' && (int)strtol(entry->d_name, NULL, 10) != dirfd(dir))
			(void)dprintf(to, "%s,", entry->d_name);
}

static int probe(char **argv)
{
	int number = argv[2] ? (int)strtol(argv[2], NULL, 10) : 0;
	char byte = 0;

	if (strcmp(argv[1], "count") == 0)
		return koda_count_fds();
	if (strcmp(argv[1], "exit") == 0)
		return number;
	if (strcmp(argv[1], "kill") == 0)
		return kill(getpid(), number);
	if (strcmp(argv[1], "signals") == 0)
		return probe_signals();
	if (strcmp(argv[1], "read") == 0)
		return read(number, &byte, 1) == 1 ? byte : 0;
	if (strcmp(argv[1], "list") == 0)
		probe_list_fds(number);
	else if (strcmp(argv[1], "environment") == 0)
		for (char **e = environ; *e; e++)
			(void)dprintf(number, "%s;", *e);
	else
		(void)pause();
	return 0;
}

/* Starts this program as a probe and waits for it; argument may be NULL. */
static int try_probe(const char *name, const char *argument, const struct koda_fdmap *give,
		     size_t count, struct koda_exit *ret_exit, struct koda_error *err)
{
	char *const argv[] = { (char *)(uintptr_t) "probe", (char *)(uintptr_t)name,
			       (char *)(uintptr_t)argument, NULL };
	koda_auto_proc struct koda_proc proc = KODA_PROC_INIT;
	int r = koda_proc_spawn(&proc, SELF, argv, no_env, give, count, err);

	return r < 0 ? r : koda_proc_wait(&proc, KODA_DEADLINE_NEVER, ret_exit, err);
}

static struct koda_exit run_probe(const char *name, const char *argument,
				  const struct koda_fdmap *give, size_t count)
{
	struct koda_exit end = { -2, -2 };
	struct koda_error err = { 0 };

	KODA_ASSERT_OK(try_probe(name, argument, give, count, &end, &err), err);
	return end;
}

static void start_pausing(struct koda_proc *proc)
{
	char *const argv[] = { (char *)(uintptr_t) "probe", (char *)(uintptr_t) "pause", NULL };
	struct koda_error err = { 0 };

	KODA_ASSERT_OK(koda_proc_spawn(proc, SELF, argv, no_env, NULL, 0, &err), err);
}

static const struct {
	const char *probe;
	const char *argument;
	struct koda_exit end;
} ends[] = {
	{ "exit", "0", { 0, 0 } },     { "exit", "1", { 1, 0 } },     { "exit", "77", { 77, 0 } },
	{ "exit", "125", { 125, 0 } }, { "exit", "255", { 255, 0 } }, { "kill", "9", { -1, 9 } },
	{ "kill", "15", { -1, 15 } },  { "kill", "24", { -1, 24 } },
};

static void exit_codes_and_signals_are_told_apart(void **state)
{
	(void)state;
	KODA_EACH(row, ends) {
		struct koda_exit end = run_probe(row->probe, row->argument, NULL, 0);

		KODA_EXPECT(row->argument, end.code == row->end.code);
		KODA_EXPECT(row->argument, end.signal == row->end.signal);
	}
}

static void a_child_without_a_list_has_no_descriptors(void **state)
{
	(void)state;
	assert_int_equal(run_probe("count", NULL, NULL, 0).code, 0);
}

/* The host leaves descriptors open without close-on-exec, below, between and above the given. */
static void a_child_has_exactly_the_descriptors_on_the_list(void **state)
{
	int leaked[8];
	struct koda_error err = { 0 };
	koda_auto_fd int r = -1;
	koda_auto_fd int w = -1;
	char text[64] = "";

	(void)state;
	for (size_t i = 0; i < 8; i++)
		leaked[i] = fcntl(STDERR_FILENO, F_DUPFD, i < 4 ? 3 : 40);
	KODA_ASSERT_OK(koda_fd_pipe(&r, &w, &err), err);
	assert_int_equal(
		run_probe("list", "9",
			  (struct koda_fdmap[]){ { w, 9 }, { r, 5 }, { STDERR_FILENO, 0 } }, 3)
			.code,
		0);
	koda_fd_close(&w);
	assert_true(read(r, text, sizeof(text) - 1) > 0);
	assert_string_equal(text, "0,5,9,");
	for (size_t i = 0; i < 8; i++)
		koda_fd_close(&leaked[i]);
}

static void numbers_may_be_swapped_or_stay(void **state)
{
	char first[16];
	char second[16];
	struct koda_error err = { 0 };
	int a[2];
	int b[2];

	(void)state;
	KODA_ASSERT_OK(koda_fd_pipe(&a[0], &a[1], &err), err);
	KODA_ASSERT_OK(koda_fd_pipe(&b[0], &b[1], &err), err);
	assert_int_equal(write(a[1], "AA", 2), 2);
	assert_int_equal(write(b[1], "BB", 2), 2);
	(void)snprintf(first, sizeof(first), "%d", a[0]);
	(void)snprintf(second, sizeof(second), "%d", b[0]);
	struct koda_fdmap swap[] = { { a[0], b[0] }, { b[0], a[0] } };
	struct koda_fdmap stay[] = { { a[0], a[0] }, { b[0], b[0] } };

	assert_int_equal(run_probe("read", first, swap, 2).code, 'B');
	assert_int_equal(run_probe("read", second, swap, 2).code, 'A');
	assert_int_equal(run_probe("read", first, stay, 2).code, 'A');
	assert_int_equal(run_probe("read", second, stay, 2).code, 'B');
	for (size_t i = 0; i < 2; i++) {
		koda_fd_close(&a[i]);
		koda_fd_close(&b[i]);
	}
}

static void one_descriptor_may_be_given_twice(void **state)
{
	struct koda_error err = { 0 };
	koda_auto_fd int r = -1;
	koda_auto_fd int w = -1;

	(void)state;
	KODA_ASSERT_OK(koda_fd_pipe(&r, &w, &err), err);
	assert_int_equal(
		run_probe("count", NULL, (struct koda_fdmap[]){ { r, 3 }, { r, 4 } }, 2).code, 2);
}

static int spawn_with_odd_signals(void *arg)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN };
	struct koda_exit end = { -2, -2 };
	sigset_t all;

	(void)arg;
	KODA_CHILD_CHECK(sigfillset(&all) == 0 && sigprocmask(SIG_BLOCK, &all, NULL) == 0);
	KODA_CHILD_CHECK(sigaction(SIGPIPE, &ignore, NULL) == 0);
	KODA_CHILD_CHECK(sigaction(SIGUSR1, &ignore, NULL) == 0);
	KODA_CHILD_CHECK(sigaction(SIGHUP, &ignore, NULL) == 0);
	KODA_CHILD_CHECK(try_probe("signals", NULL, NULL, 0, &end, NULL) == KODA_OK);
	KODA_CHILD_CHECK(end.code == 0);
	return 0;
}

static void signals_are_reset_in_the_child(void **state)
{
	(void)state;
	assert_int_equal(koda_child_run(spawn_with_odd_signals, NULL), 0);
}

static void the_environment_is_the_one_given(void **state)
{
	char *const argv[] = { (char *)(uintptr_t) "probe", (char *)(uintptr_t) "environment",
			       (char *)(uintptr_t) "3", NULL };
	char *const envp[] = { (char *)(uintptr_t) "A=1", (char *)(uintptr_t) "B=", NULL };
	koda_auto_proc struct koda_proc proc = KODA_PROC_INIT;
	struct koda_exit end = { -2, -2 };
	struct koda_error err = { 0 };
	koda_auto_fd int r = -1;
	koda_auto_fd int w = -1;
	char text[64] = "";

	(void)state;
	KODA_ASSERT_OK(koda_fd_pipe(&r, &w, &err), err);
	KODA_ASSERT_OK(
		koda_proc_spawn(&proc, SELF, argv, envp, &(struct koda_fdmap){ w, 3 }, 1, &err),
		err);
	KODA_ASSERT_OK(koda_proc_wait(&proc, KODA_DEADLINE_NEVER, &end, &err), err);
	koda_fd_close(&w);
	assert_int_equal(read(r, text, sizeof(text) - 1), 7);
	assert_string_equal(text, "A=1;B=;");
}

static void what_cannot_start_leaves_nothing_behind(void **state)
{
	const struct koda_fdmap closed = { -1, 3 };
	const struct koda_fdmap no_number = { STDERR_FILENO, -1 };
	static const struct koda_fdmap many[17];
	const struct {
		const char *path;
		const struct koda_fdmap *give;
		size_t count;
		int code;
		int sys_errno;
	} rows[] = {
		{ "/no/such/program", NULL, 0, KODA_E_SYS, ENOENT },
		{ "/etc/passwd", NULL, 0, KODA_E_SYS, EACCES },
		{ "true", NULL, 0, KODA_E_SYS, ENOENT }, /* PATH is nobody's business here */
		{ SELF, &closed, 1, KODA_E_SYS, EBADF },
		{ SELF, &no_number, 1, KODA_E_SYS, EBADF },
		{ SELF, many, 17, KODA_E_LIMIT, 0 },
	};
	int before = koda_count_fds();

	(void)state;
	KODA_EACH(row, rows) {
		char *const argv[] = { (char *)(uintptr_t)row->path, NULL };
		koda_auto_proc struct koda_proc proc = KODA_PROC_INIT;
		struct koda_error err = { 0 };
		int r = koda_proc_spawn(&proc, row->path, argv, no_env, row->give, row->count,
					&err);

		KODA_EXPECT(row->path, r == row->code && err.code == row->code);
		KODA_EXPECT(row->path, err.sys_errno == row->sys_errno && err.message[0]);
		KODA_EXPECT(row->path, proc.pid == 0 && proc.pidfd == -1);
		KODA_EXPECT(row->path, koda_count_fds() == before);
		KODA_EXPECT(row->path, waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD);
	}
}

static int spawn_without_pidfd(void *arg)
{
	char *const argv[] = { (char *)(uintptr_t) "probe", (char *)(uintptr_t) "pause", NULL };
	struct koda_proc proc = KODA_PROC_INIT;
	struct koda_error err = { 0 };

	(void)arg;
	KODA_CHILD_CHECK(koda_child_block(SYS_pidfd_open, ENOSYS));
	KODA_CHILD_CHECK(koda_proc_spawn(&proc, SELF, argv, no_env, NULL, 0, &err) == KODA_E_SYS);
	KODA_CHILD_CHECK(err.sys_errno == ENOSYS && proc.pid == 0 && proc.pidfd == -1);
	KODA_CHILD_CHECK(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD);
	return 0;
}

static void a_child_that_cannot_be_watched_does_not_live(void **state)
{
	(void)state;
	assert_int_equal(koda_child_run(spawn_without_pidfd, NULL), 0);
}

static void a_deadline_that_passed_leaves_the_child_running(void **state)
{
	koda_auto_proc struct koda_proc proc = KODA_PROC_INIT;
	struct koda_exit end = { 55, 55 };
	struct koda_error err = { 0 };
	uint64_t soon = koda_clock_now() + 5000000;

	(void)state;
	start_pausing(&proc);
	KODA_ASSERT_FAILS(KODA_E_TIMEOUT, koda_proc_wait(&proc, 0, &end, &err), err);
	KODA_ASSERT_FAILS(KODA_E_TIMEOUT, koda_proc_wait(&proc, soon, &end, &err), err);
	assert_true(koda_clock_now() >= soon);
	assert_int_equal(end.code, 55);
	assert_int_equal(end.signal, 55);
	assert_int_equal(kill(proc.pid, 0), 0);
}

static void a_killed_child_is_reaped(void **state)
{
	koda_auto_proc struct koda_proc proc = KODA_PROC_INIT;
	pid_t pid;

	(void)state;
	start_pausing(&proc);
	pid = proc.pid;
	errno = ERANGE;
	koda_proc_kill(&proc);
	assert_int_equal(errno, ERANGE);
	assert_int_equal(proc.pid, 0);
	assert_int_equal(proc.pidfd, -1);
	assert_int_equal(waitpid(pid, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
	koda_proc_kill(&proc);
}

static void killing_no_child_does_nothing(void **state)
{
	struct koda_proc proc = KODA_PROC_INIT;

	(void)state;
	koda_proc_kill(&proc);
	assert_int_equal(proc.pid, 0);
	assert_int_equal(proc.pidfd, -1);
}

static void waiting_for_no_child_is_refused(void **state)
{
	struct koda_proc proc = KODA_PROC_INIT;
	struct koda_exit end = { 55, 55 };
	struct koda_error err = { 0 };

	(void)state;
	KODA_ASSERT_FAILS(KODA_E_INVALID, koda_proc_wait(&proc, 0, &end, &err), err);
	assert_int_equal(end.code, 55);
}

static void a_far_deadline_ends_with_the_child(void **state)
{
	koda_auto_proc struct koda_proc proc = KODA_PROC_INIT;
	struct koda_exit end = { 55, 55 };
	struct koda_error err = { 0 };

	(void)state;
	start_pausing(&proc);
	assert_int_equal(kill(proc.pid, SIGTERM), 0);
	KODA_ASSERT_OK(koda_proc_wait(&proc, KODA_DEADLINE_NEVER - 1, &end, &err), err);
	assert_int_equal(end.signal, SIGTERM);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exit_codes_and_signals_are_told_apart),
		cmocka_unit_test(a_child_without_a_list_has_no_descriptors),
		cmocka_unit_test(a_child_has_exactly_the_descriptors_on_the_list),
		cmocka_unit_test(numbers_may_be_swapped_or_stay),
		cmocka_unit_test(one_descriptor_may_be_given_twice),
		cmocka_unit_test(signals_are_reset_in_the_child),
		cmocka_unit_test(the_environment_is_the_one_given),
		cmocka_unit_test(what_cannot_start_leaves_nothing_behind),
		cmocka_unit_test(a_child_that_cannot_be_watched_does_not_live),
		cmocka_unit_test(a_deadline_that_passed_leaves_the_child_running),
		cmocka_unit_test(a_killed_child_is_reaped),
		cmocka_unit_test(killing_no_child_does_nothing),
		cmocka_unit_test(waiting_for_no_child_is_refused),
		cmocka_unit_test(a_far_deadline_ends_with_the_child),
	};

	if (argc > 1)
		_exit(probe(argv));
	return KODA_TEST_RUN(tests);
}
