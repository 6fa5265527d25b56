/* SPDX-License-Identifier: MIT */
/* A host with threads: each opens sandboxes and runs commands while the others do, and afterwards
 * the process has the descriptors and children that it had before. */
#include "koda_test.h"

#include "../lib/child.h"
#include "../lib/scratch.h"
#include "run/sandbox.h"

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#define THREADS 8
#define ROUNDS  6

/* A home without package caches, whose copies would be kept in the developer's own. */
static const char *const env[] = { "PATH=/usr/bin:/bin", "HOME=/nonexistent", NULL };

struct worker {
	pthread_t thread;
	int number;
	const char *root;
	char wrong[256]; /* "" if all went well */
};

static void note(struct worker *worker, const char *what, const struct koda_error *err)
{
	(void)snprintf(worker->wrong, sizeof(worker->wrong), "%s: %.60s %.120s", what, err->field,
		       err->message);
}

/* What the command wrote must be this thread's and nobody else's. */
static bool has_text(int fd, const char *wanted)
{
	char text[256];
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);

	text[n > 0 ? n : 0] = '\0';
	return strcmp(text, wanted) == 0;
}

static void run_one(struct worker *worker, struct koda_sandbox *sandbox, int round)
{
	char shell[192];
	char wanted[64];
	int out = memfd_create("out", MFD_CLOEXEC);
	const struct koda_command_options what = {
		.size = sizeof(what),
		.shell = shell,
		.out = { .kind = out < 0 ? KODA_STREAM_NULL : KODA_STREAM_FD, .fd = out }
	};
	struct koda_command *command = NULL;
	struct koda_outcome outcome = { .size = sizeof(outcome) };
	struct koda_error err = { 0 };

	/* 3 and more must be closed: another thread's pipes would be among them. */
	(void)snprintf(shell, sizeof(shell),
		       "echo thread %d round %d; for fd in 3 4 5 6 7 8 9 10 11; do "
		       "[ ! -e /proc/self/fd/$fd ] || echo $fd; done; exit %d",
		       worker->number, round, 10 + worker->number);
	(void)snprintf(wanted, sizeof(wanted), "thread %d round %d\n", worker->number, round);
	if (koda_sandbox_start(sandbox, &what, &command, &err) < 0 ||
	    koda_command_wait(command, &outcome, &err) < 0)
		note(worker, "not run", &err);
	else if (outcome.end != KODA_END_EXITED || outcome.code != 10 + worker->number)
		note(worker, "ended in another way", &err);
	else if (!has_text(out, wanted))
		note(worker, "wrote something else", &err);
	koda_command_free(command);
	(void)close(out);
}

static void *work(void *arg)
{
	struct worker *worker = arg;
	const struct koda_sandbox_options options = { .size = sizeof(options),
						      .trust = KODA_TRUST_AUTO,
						      .root = worker->root,
						      .host_env = env };

	for (int round = 0; round < ROUNDS && !worker->wrong[0]; round++) {
		struct koda_sandbox *sandbox = NULL;
		struct koda_error err = { 0 };

		if (koda_sandbox_open(&options, &sandbox, &err) < 0)
			note(worker, "no sandbox", &err);
		for (int k = 0; sandbox && k < 2 && !worker->wrong[0]; k++)
			run_one(worker, sandbox, round);
		koda_sandbox_close(sandbox);
	}
	return NULL;
}

/* T-99. Orphans become children of this process, so that none of them is missed: no child, running
 * or not, means that nothing has outlived what started it. */
static void expect_no_process(void)
{
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
}

/* together: all in one project, so that they share its placeholders. */
static void run_threads(const char *dir, bool together)
{
	struct worker workers[THREADS];
	int before = koda_count_fds();

	assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), 0);
	for (int i = 0; i < THREADS; i++) {
		char name[16];

		(void)snprintf(name, sizeof(name), "project%d", together ? 0 : i);
		workers[i] = (struct worker){ .number = i, .root = koda_in(dir, name) };
		if (mkdir(workers[i].root, 0755) < 0)
			assert_int_equal(errno, EEXIST);
	}
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_join(workers[i].thread, NULL), 0);
	for (int i = 0; i < THREADS; i++)
		if (workers[i].wrong[0])
			fail_msg("thread %d: %s", i, workers[i].wrong);
	assert_int_equal(koda_count_fds(), before);
	expect_no_process();
	for (int i = 0; i < THREADS; i++) /* nothing was left in it */
		assert_true(rmdir(workers[i].root) == 0 || errno == ENOENT);
}

static void each_in_its_own_project(void **state)
{
	run_threads(*state, false);
}

static void all_in_one_project(void **state)
{
	run_threads(*state, true);
}

/* The exit code. */
static int run_in(struct koda_sandbox *sandbox, const char *shell)
{
	const struct koda_command_options what = { .size = sizeof(what), .shell = shell };
	struct koda_command *command = NULL;
	struct koda_outcome outcome = { .size = sizeof(outcome) };
	struct koda_error err = { 0 };

	KODA_ASSERT_OK(koda_sandbox_start(sandbox, &what, &command, &err), err);
	KODA_ASSERT_OK(koda_command_wait(command, &outcome, &err), err);
	koda_command_free(command);
	if (outcome.end != KODA_END_EXITED)
		fail_msg("%s: %s %s", shell, err.field, err.message);
	return outcome.code;
}

/* T-30. A sandbox stays open while the project changes around it. */
static void each_command_gets_another_look(void **state)
{
	const char *root = koda_in(*state, "project");
	const struct koda_sandbox_options options = {
		.size = sizeof(options), .trust = KODA_TRUST_AUTO, .root = root, .host_env = env
	};
	const struct koda_command_options waiting = { .size = sizeof(waiting),
						      .shell = "sleep 60" };
	struct koda_sandbox *sandbox = NULL;
	struct koda_command *command = NULL;
	struct koda_error err = { 0 };

	assert_int_equal(mkdir(root, 0755), 0);
	KODA_ASSERT_OK(koda_sandbox_open(&options, &sandbox, &err), err);
	KODA_ASSERT_OK(koda_sandbox_start(sandbox, &waiting, &command, &err), err);
	assert_int_equal(run_in(sandbox, "mkdir mine && touch mine/hook"), 0);
	assert_int_equal(mkdir(koda_in(*state, "project/cloned"), 0755), 0);
	assert_int_equal(mkdir(koda_in(*state, "project/cloned/.git"), 0755), 0);
	assert_int_equal(mkdir(koda_in(*state, "project/cloned/.git/hooks"), 0755), 0);
	assert_int_not_equal(run_in(sandbox, "touch cloned/.git/hooks/pre-commit"), 0);
	assert_int_equal(run_in(sandbox, "touch cloned/file"), 0);
	koda_command_free(command); /* of the first look */
	koda_sandbox_close(sandbox);
}

/* T-06. So does a link among what is denied. */
static void denied_links_are_followed_anew(void **state)
{
	const char *root = koda_make_dir(*state, "project");
	const char *link = koda_in(*state, "project/hidden");
	struct koda_sandbox_options options = {
		.size = sizeof(options), .trust = KODA_TRUST_AUTO, .root = root, .host_env = env
	};
	struct koda_policy *policy = NULL;
	struct koda_sandbox *sandbox = NULL;
	struct koda_error err = { 0 };

	(void)koda_make_dir(*state, "project/first");
	(void)koda_make_dir(*state, "project/second");
	(void)koda_make_file(*state, "project/first/file", "1");
	(void)koda_make_file(*state, "project/second/file", "2");
	assert_int_equal(symlink("first", link), 0);
	KODA_ASSERT_OK(koda_policy_for_trust(KODA_TRUST_AUTO, root, &policy, &err), err);
	KODA_ASSERT_OK(koda_policy_add(policy, KODA_LIST_DENY_READ, link, strlen(link), &err), err);
	options.policy = policy;
	KODA_ASSERT_OK(koda_sandbox_open(&options, &sandbox, &err), err);
	assert_int_not_equal(run_in(sandbox, "cat first/file"), 0);
	assert_int_equal(run_in(sandbox, "cat second/file"), 0);
	assert_int_equal(unlink(link), 0);
	assert_int_equal(symlink("second", link), 0);
	assert_int_not_equal(run_in(sandbox, "cat hidden/file"), 0);
	assert_int_not_equal(run_in(sandbox, "cat second/file"), 0);
	koda_sandbox_close(sandbox);
	koda_policy_free(policy);
}

/* A command that is stopped goes on when it is told to, and is watched meanwhile. */
static void a_command_can_be_stopped(void **state)
{
	const char *root = koda_make_dir(*state, "project");
	const struct koda_sandbox_options options = {
		.size = sizeof(options), .trust = KODA_TRUST_AUTO, .root = root, .host_env = env
	};
	const struct koda_command_options what = {
		.size = sizeof(what),
		.shell = "while [ ! -e go ]; do sleep 0.05; done; "
			 "touch done"
	};
	struct koda_sandbox *sandbox = NULL;
	struct koda_command *command = NULL;
	struct koda_outcome outcome = { .size = sizeof(outcome) };
	struct koda_error err = { 0 };

	KODA_ASSERT_OK(koda_sandbox_open(&options, &sandbox, &err), err);
	KODA_ASSERT_OK(koda_sandbox_start(sandbox, &what, &command, &err), err);
	assert_int_equal(koda_command_wait_for(command, 200, &outcome, &err), KODA_E_TIMEOUT);
	KODA_ASSERT_OK(koda_command_signal(command, SIGSTOP, &err), err);
	assert_int_equal(koda_command_wait_for(command, 200, &outcome, &err), KODA_E_TIMEOUT);
	(void)koda_make_file(*state, "project/go", "");
	assert_int_equal(koda_command_wait_for(command, 500, &outcome, &err), KODA_E_TIMEOUT);
	assert_int_equal(access(koda_in(*state, "project/done"), F_OK), -1);
	KODA_ASSERT_OK(koda_command_signal(command, SIGCONT, &err), err);
	KODA_ASSERT_OK(koda_command_wait(command, &outcome, &err), err);
	assert_int_equal(outcome.end, KODA_END_EXITED);
	assert_int_equal(access(koda_in(*state, "project/done"), F_OK), 0);
	koda_command_free(command);
	koda_sandbox_close(sandbox);
}

static void *kill_it(void *arg)
{
	koda_command_kill(arg);
	return NULL;
}

/* One thread waits, another has had enough. */
static void another_thread_ends_it(void **state)
{
	const char *root = koda_in(*state, "project");
	const struct koda_sandbox_options options = {
		.size = sizeof(options), .trust = KODA_TRUST_AUTO, .root = root, .host_env = env
	};
	const struct koda_command_options what = { .size = sizeof(what),
						   .shell = "trap '' TERM; setsid sleep 60 & "
							    "sleep 60" };
	struct koda_sandbox *sandbox = NULL;
	struct koda_command *command = NULL;
	struct koda_outcome outcome = { .size = sizeof(outcome) };
	struct koda_error err = { 0 };
	pthread_t thread;

	assert_int_equal(mkdir(root, 0755), 0);
	KODA_ASSERT_OK(koda_sandbox_open(&options, &sandbox, &err), err);
	KODA_ASSERT_OK(koda_sandbox_start(sandbox, &what, &command, &err), err);
	assert_int_equal(koda_command_wait_for(command, 50, &outcome, &err), KODA_E_TIMEOUT);
	assert_int_equal(pthread_create(&thread, NULL, kill_it, command), 0);
	KODA_ASSERT_OK(koda_command_wait(command, &outcome, &err), err);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(outcome.end, KODA_END_SIGNAL);
	assert_int_equal(outcome.signal, SIGKILL);
	koda_command_free(command);
	koda_sandbox_close(sandbox);
	assert_int_equal(rmdir(root), 0);
}

/* Whatever became of its commands, and with a proxy. */
static void nothing_is_left_of_a_sandbox(void **state)
{
	const char *root = koda_make_dir(*state, "project");
	const struct koda_sandbox_options options = {
		.size = sizeof(options), .trust = KODA_TRUST_AUTO, .root = root, .host_env = env
	};
	const struct koda_command_options what = { .size = sizeof(what),
						   .shell = "(setsid sleep 60 &); sleep 60" };
	struct koda_sandbox *sandbox = NULL;
	struct koda_command *command = NULL;
	struct koda_error err = { 0 };

	assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), 0);
	KODA_ASSERT_OK(koda_sandbox_open(&options, &sandbox, &err), err);
	KODA_ASSERT_OK(koda_sandbox_start(sandbox, &what, &command, &err), err);
	koda_command_free(command);
	expect_no_process();
	assert_int_equal(run_in(sandbox, "(setsid sleep 60 &); exit 3"), 3);
	expect_no_process();
	assert_int_equal(run_in(sandbox, "exec bash -c 'exec 5<>/dev/tcp/127.0.0.1/3128 && "
					 "printf \"GET http://host.invalid/ HTTP/1.0\\r\\n\\r\\n\" "
					 ">&5 && read -r line <&5'"),
			 0);
	/* The proxy, which stays for the next command. */
	assert_int_equal(waitpid(-1, NULL, WNOHANG), 0);
	koda_sandbox_close(sandbox);
	expect_no_process();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		KODA_SCRATCH_TEST(each_in_its_own_project),
		KODA_SCRATCH_TEST(all_in_one_project),
		KODA_SCRATCH_TEST(another_thread_ends_it),
		KODA_SCRATCH_TEST(each_command_gets_another_look),
		KODA_SCRATCH_TEST(denied_links_are_followed_anew),
		KODA_SCRATCH_TEST(a_command_can_be_stopped),
		KODA_SCRATCH_TEST(nothing_is_left_of_a_sandbox),
	};

	return KODA_TEST_RUN(tests);
}
