/* SPDX-License-Identifier: MIT */
/* Children of a host that does odd things with signals and with other people's children. */
#include "koda_test.h"

#include "../lib/child.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/proc.h"

#include <signal.h>

/* poll() itself where the architecture has it, its successor elsewhere. */
#ifdef SYS_poll
#define POLL_NUMBER SYS_poll
#else
#define POLL_NUMBER SYS_ppoll
#endif

static int spawn_shell(struct koda_proc *proc, const char *script, struct koda_error *err)
{
	char *const argv[] = { (char *)(uintptr_t) "sh", (char *)(uintptr_t) "-c",
			       (char *)(uintptr_t)script, NULL };
	char *const envp[] = { (char *)(uintptr_t) "PATH=/usr/bin:/bin", NULL };

	return koda_proc_spawn(proc, "/bin/sh", argv, envp, NULL, 0, err);
}

static void nothing(int sig)
{
	(void)sig;
}

static int wait_while_signals_come(void *arg)
{
	struct sigaction catch = { .sa_handler = nothing };
	struct koda_proc proc = KODA_PROC_INIT;
	struct koda_exit end = { -2, -2 };
	struct koda_error err = { 0 };

	(void)arg;
	KODA_CHILD_CHECK(sigaction(SIGUSR1, &catch, NULL) == 0);
	KODA_CHILD_CHECK(spawn_shell(&proc,
				     "for i in 1 2 3; do sleep 0.02; kill -USR1 $PPID; done; "
				     "exit 3",
				     &err) == KODA_OK);
	KODA_CHILD_CHECK(koda_proc_wait(&proc, KODA_DEADLINE_NEVER, &end, &err) == KODA_OK);
	KODA_CHILD_CHECK(end.code == 3 && end.signal == 0);
	return 0;
}

static void a_signal_does_not_end_the_wait(void **state)
{
	(void)state;
	assert_int_equal(koda_child_run(wait_while_signals_come, NULL), 0);
}

static int wait_where_children_vanish(void *arg)
{
	char *const argv[] = { (char *)(uintptr_t) "sh", (char *)(uintptr_t) "-c",
			       (char *)(uintptr_t) "read line; exit 3", NULL };
	struct sigaction ignore = { .sa_handler = SIG_IGN };
	struct koda_proc proc = KODA_PROC_INIT;
	struct koda_exit end = { 55, 55 };
	struct koda_error err = { 0 };
	int r;
	int w;

	(void)arg;
	KODA_CHILD_CHECK(sigaction(SIGCHLD, &ignore, NULL) == 0);
	KODA_CHILD_CHECK(koda_fd_pipe(&r, &w, &err) == KODA_OK);
	KODA_CHILD_CHECK(koda_proc_spawn(&proc, "/bin/sh", argv, (char *[]){ NULL },
					 &(struct koda_fdmap){ r, 0 }, 1, &err) == KODA_OK);
	koda_fd_close(&w); /* now it ends, and the kernel throws its status away */
	KODA_CHILD_CHECK(koda_proc_wait(&proc, KODA_DEADLINE_NEVER, &end, &err) == KODA_E_SYS);
	KODA_CHILD_CHECK(err.sys_errno == ECHILD && end.code == 55);
	/* The number may be another process's by now: it must not stay around to be killed. */
	KODA_CHILD_CHECK(proc.pid == 0 && proc.pidfd == -1);
	return 0;
}

static void a_child_that_somebody_else_reaped_is_forgotten(void **state)
{
	(void)state;
	assert_int_equal(koda_child_run(wait_where_children_vanish, NULL), 0);
}

static int kill_where_children_vanish(void *arg)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN };
	struct koda_proc proc = KODA_PROC_INIT;
	struct koda_error err = { 0 };
	pid_t pid;

	(void)arg;
	KODA_CHILD_CHECK(sigaction(SIGCHLD, &ignore, NULL) == 0);
	KODA_CHILD_CHECK(spawn_shell(&proc, "exec sleep 1000", &err) == KODA_OK);
	pid = proc.pid;
	koda_proc_kill(&proc);
	KODA_CHILD_CHECK(proc.pid == 0 && proc.pidfd == -1);
	KODA_CHILD_CHECK(kill(pid, 0) == -1 && errno == ESRCH);
	return 0;
}

static void a_killed_child_is_gone_where_nobody_reaps(void **state)
{
	(void)state;
	assert_int_equal(koda_child_run(kill_where_children_vanish, NULL), 0);
}

/* A number may belong to somebody else by the time of the signal, a descriptor never does: so the
 * child must die although signals by number are blocked. One that lives on says so after a while.
 */
static int kill_by_descriptor(void *arg)
{
	char *const argv[] = { (char *)(uintptr_t) "sh", (char *)(uintptr_t) "-c",
			       (char *)(uintptr_t) "sleep 2; echo alive", NULL };
	char *const envp[] = { (char *)(uintptr_t) "PATH=/usr/bin:/bin", NULL };
	struct koda_proc proc = KODA_PROC_INIT;
	struct koda_error err = { 0 };
	char byte;
	int r;
	int w;

	(void)arg;
	KODA_CHILD_CHECK(koda_fd_pipe(&r, &w, &err) == KODA_OK);
	KODA_CHILD_CHECK(koda_proc_spawn(&proc, "/bin/sh", argv, envp, &(struct koda_fdmap){ w, 1 },
					 1, &err) == KODA_OK);
	KODA_CHILD_CHECK(koda_child_block(SYS_kill, EPERM));
	koda_proc_kill(&proc);
	koda_fd_close(&w);
	KODA_CHILD_CHECK(proc.pid == 0 && read(r, &byte, 1) == 0);
	return 0;
}

static void a_child_is_killed_by_descriptor_and_not_by_number(void **state)
{
	(void)state;
	assert_int_equal(koda_child_run(kill_by_descriptor, NULL), 0);
}

static int wait_without_poll(void *arg)
{
	struct koda_proc proc = KODA_PROC_INIT;
	struct koda_exit end = { 55, 55 };
	struct koda_error err = { 0 };

	(void)arg;
	KODA_CHILD_CHECK(spawn_shell(&proc, "exec sleep 1000", &err) == KODA_OK);
	KODA_CHILD_CHECK(koda_child_block(POLL_NUMBER, EINVAL));
	KODA_CHILD_CHECK(koda_proc_wait(&proc, KODA_DEADLINE_NEVER, &end, &err) == KODA_E_SYS);
	KODA_CHILD_CHECK(err.sys_errno == EINVAL && proc.pid > 0 && end.code == 55);
	koda_proc_kill(&proc);
	KODA_CHILD_CHECK(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD);
	return 0;
}

static void a_wait_that_fails_keeps_the_child(void **state)
{
	(void)state;
	assert_int_equal(koda_child_run(wait_without_poll, NULL), 0);
}

static int deadline_of_a_child_that_ended(void *arg)
{
	struct koda_proc proc = KODA_PROC_INIT;
	struct koda_exit end = { 55, 55 };
	struct koda_error err = { 0 };
	siginfo_t info;

	(void)arg;
	KODA_CHILD_CHECK(spawn_shell(&proc, "exit 7", &err) == KODA_OK);
	KODA_CHILD_CHECK(waitid(P_PID, (id_t)proc.pid, &info, WEXITED | WNOWAIT) == 0);
	KODA_CHILD_CHECK(koda_proc_wait(&proc, 0, &end, &err) == KODA_OK);
	KODA_CHILD_CHECK(end.code == 7);
	return 0;
}

static void a_child_that_ended_is_reaped_even_past_the_deadline(void **state)
{
	(void)state;
	assert_int_equal(koda_child_run(deadline_of_a_child_that_ended, NULL), 0);
}

static void the_clock_never_goes_back(void **state)
{
	uint64_t before = koda_clock_now();

	(void)state;
	assert_true(before > 0);
	for (int i = 0; i < 1000; i++) {
		uint64_t now = koda_clock_now();

		assert_true(now >= before);
		before = now;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_signal_does_not_end_the_wait),
		cmocka_unit_test(a_child_that_somebody_else_reaped_is_forgotten),
		cmocka_unit_test(a_killed_child_is_gone_where_nobody_reaps),
		cmocka_unit_test(a_child_is_killed_by_descriptor_and_not_by_number),
		cmocka_unit_test(a_wait_that_fails_keeps_the_child),
		cmocka_unit_test(a_child_that_ended_is_reaped_even_past_the_deadline),
		cmocka_unit_test(the_clock_never_goes_back),
	};

	return KODA_TEST_RUN(tests);
}
