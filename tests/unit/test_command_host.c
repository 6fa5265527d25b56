/* SPDX-License-Identifier: MIT */
/* Hosts with habits of their own: they ignore SIGCHLD, wait for any child, close descriptors, or
 * run out of them. */
#include "koda_test.h"

#include "../lib/child.h"
#include "../lib/commands.h"
#include "base/fd.h"

#include <pthread.h>
#include <sys/prctl.h>
#include <sys/resource.h>

/* More than an open sandbox and a command need. */
#define ENOUGH_FDS 64

static void expect_a_run(const char *root)
{
	struct koda_told told = { 0 };
	struct koda_sandbox *sandbox = koda_test_open(root, koda_tell, &told);
	struct koda_command *command;
	struct koda_outcome outcome;

	koda_command_free(koda_test_run(sandbox, &KODA_SHELL("echo; exit 3"), 3));
	command = koda_test_start(sandbox, &KODA_SHELL("exec sleep 600"));
	koda_command_kill(command);
	outcome = koda_test_wait(command);
	assert_int_equal(outcome.end, KODA_END_SIGNAL);
	assert_true(outcome.by_host);
	koda_command_free(command);
	koda_command_free(koda_test_start(sandbox, &KODA_SHELL("exec sleep 600")));
	assert_int_equal(told.starts, 3);
	assert_int_equal(told.exits, 3);
	koda_sandbox_close(sandbox);
}

/* Fails where no sandbox can be opened. Called before a case takes something away that reporting
 * its failure needs. */
static void expect_an_open(const char *root)
{
	koda_sandbox_close(koda_test_open(root, NULL, NULL));
}

static void it_ignores_sigchld(void **state)
{
	struct sigaction before;
	const struct sigaction ignore = { .sa_handler = SIG_IGN };

	assert_int_equal(sigaction(SIGCHLD, &ignore, &before), 0);
	expect_a_run(*state);
	assert_int_equal(sigaction(SIGCHLD, &before, NULL), 0);
}

static void *wait_for_any(void *arg)
{
	while (!atomic_load((atomic_bool *)arg))
		if (waitpid(-1, NULL, WNOHANG) <= 0)
			(void)usleep(100);
	return NULL;
}

static void it_waits_for_any_child(void **state)
{
	atomic_bool done = false;
	pthread_t thread;

	expect_an_open(*state);
	assert_int_equal(pthread_create(&thread, NULL, wait_for_any, &done), 0);
	for (int i = 0; i < 5; i++)
		expect_a_run(*state);
	atomic_store(&done, true);
	assert_int_equal(pthread_join(thread, NULL), 0);
}

/* What the library opens then gets the numbers 0 to 2, which a command's own streams have. */
static void it_has_closed_its_standard_streams(void **state)
{
	koda_auto_fd int file = -1;
	int before[3];
	char got[16] = "";

	expect_an_open(*state);
	(void)fflush(NULL);
	for (int i = 0; i < 3; i++) {
		before[i] = fcntl(i, F_DUPFD_CLOEXEC, 100);
		(void)close(i);
	}
	expect_a_run(*state);
	{
		struct koda_sandbox *sandbox = koda_test_open(*state, NULL, NULL);
		const struct koda_stream closed = { .kind = KODA_STREAM_INHERIT };
		/* Which of its descriptors the library has given to the caller is 0 by now. */
		int own = open(koda_in(*state, "own"), O_RDWR | O_CREAT, 0644);

		koda_command_free(koda_test_run(
			sandbox, &KODA_SHELL_TO(KODA_TO_FD(own), "read x; echo out; exit 3"), 3));
		(void)close(own);
		koda_sandbox_close(sandbox);
		sandbox = koda_test_open(*state, NULL, NULL);
		for (int i = 0; i < 3; i++)
			(void)close(i);
		KODA_TEST_REFUSED(sandbox, &KODA_SHELL_TO(closed, "true"), KODA_E_SYS, "out");
		koda_sandbox_close(sandbox);
	}
	for (int i = 0; i < 3; i++) {
		if (before[i] >= 0) {
			(void)dup2(before[i], i);
			(void)close(before[i]);
		}
	}
	file = open(koda_in(*state, "own"), O_RDONLY | O_CLOEXEC);
	assert_int_equal(read(file, got, sizeof(got) - 1), 4);
	assert_string_equal(got, "out\n");
}

/* Closes all descriptors while a command runs, as a daemon does, also those of the library. The
 * wait fails at once. Returns what went wrong. */
static const char *close_all_and_wait(const char *root, int writer)
{
	struct koda_told told = { 0 };
	const struct koda_sandbox_options options = { .size = sizeof(options),
						      .trust = KODA_TRUST_AUTO,
						      .root = root,
						      .host_env = koda_test_env,
						      .on_event = koda_tell,
						      .event_ctx = &told };
	const struct koda_descriptor pass = { .host_fd = writer, .child_fd = 5 };
	struct koda_sandbox *sandbox = NULL;
	struct koda_command *command = NULL;
	struct koda_outcome outcome = { .size = sizeof(outcome) };
	struct koda_error err = { 0 };

	if (koda_sandbox_open(&options, &sandbox, &err) < 0 ||
	    koda_sandbox_start(sandbox,
			       &KODA_SHELL("touch began; exec sleep 600", .descriptors = &pass,
					   .descriptor_count = 1),
			       &command, &err) < 0)
		return "the command did not start";
	while (access(koda_in(root, "began"), F_OK) < 0)
		(void)usleep(1000);
	if (close_range(3, ~0U, 0) < 0)
		return "close_range";
	if (koda_command_wait(command, &outcome, &err) >= 0 || !err.message[0])
		return "the wait did not fail";
	koda_command_free(command);
	koda_sandbox_close(sandbox);
	return told.starts == 1 && told.exits == 1 ? NULL : "not one start and one exit";
}

/* The command ends, as its lifeline is closed, and the guardian has cleaned up when it ends. */
static void it_closes_all_descriptors(void **state)
{
	koda_auto_fd int reader = -1;
	koda_auto_fd int writer = -1;
	struct koda_error err = { 0 };
	int status = -1;
	char byte;
	pid_t pid;

	KODA_ASSERT_OK(koda_fd_pipe(&reader, &writer, &err), err);
	assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		const char *wrong = close_all_and_wait(*state, writer);

		if (wrong)
			(void)fprintf(stderr, "# %s\n", wrong);
		_exit(wrong != NULL);
	}
	koda_fd_close(&writer);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	while (waitpid(-1, NULL, __WALL) > 0)
		;
	assert_int_equal(read(reader, &byte, 1), 0);
	assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 0), 0);
}

/* Opens, runs and steps with as many descriptors as the limit allows. True if all went well; else
 * there is an error that says so. */
static bool run_within(const char *root, struct koda_told *told, unsigned int *ret_wrong)
{
	const struct koda_sandbox_options options = { .size = sizeof(options),
						      .trust = KODA_TRUST_AUTO,
						      .root = root,
						      .host_env = koda_test_env,
						      .on_event = koda_tell,
						      .event_ctx = told };
	struct koda_outcome outcome = { .size = sizeof(outcome) };
	struct koda_sandbox *sandbox = NULL;
	struct koda_command *command = NULL;
	struct koda_error err = { 0 };
	int r = koda_sandbox_open(&options, &sandbox, &err);

	*ret_wrong = 0;
	if (r == KODA_OK) {
		r = koda_sandbox_start(sandbox, &KODA_SHELL("echo out; exit 3"), &command, &err);
		*ret_wrong += (r < 0) != (command == NULL);
		*ret_wrong += told->exits != (r < 0) || told->starts != (r == KODA_OK);
	}
	if (r == KODA_OK)
		r = koda_command_fd(command, &err) < 0 ? KODA_E_SYS : KODA_OK;
	if (command) {
		int waited = koda_command_wait(command, &outcome, &err);

		if (waited == KODA_OK &&
		    (outcome.code != 3 || strcmp(koda_command_output(command, 1).ptr, "out\n")))
			(*ret_wrong)++;
		r = r < 0 ? r : waited;
	}
	*ret_wrong += r < 0 && !err.message[0];
	koda_command_free(command);
	*ret_wrong += sandbox && told->exits != 1;
	koda_sandbox_close(sandbox);
	return r == KODA_OK;
}

static void it_runs_out_of_descriptors(void **state)
{
	const int before = koda_count_fds();
	struct rlimit files;
	bool worked = false;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
	for (rlim_t most = 3; most < ENOUGH_FDS; most++) {
		struct koda_told told = { 0 };
		unsigned int wrong;

		assert_int_equal(setrlimit(RLIMIT_NOFILE, &(struct rlimit){ most, files.rlim_max }),
				 0);
		worked = run_within(*state, &told, &wrong);
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &files), 0);
		if (wrong)
			fail_msg("%u descriptors: %u starts, %u exits, %u wrong",
				 (unsigned int)most, told.starts, told.exits, wrong);
		assert_int_equal(koda_count_fds(), before);
	}
	assert_true(worked);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		KODA_SCRATCH_TEST(it_ignores_sigchld),
		KODA_SCRATCH_TEST(it_waits_for_any_child),
		KODA_SCRATCH_TEST(it_has_closed_its_standard_streams),
		KODA_SCRATCH_TEST(it_closes_all_descriptors),
		KODA_SCRATCH_TEST(it_runs_out_of_descriptors),
	};

	(void)alarm(KODA_TOO_LONG_SECS);
	return KODA_TEST_RUN(tests);
}
