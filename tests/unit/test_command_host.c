/* SPDX-License-Identifier: MIT */
/* Hosts with habits of their own: they ignore SIGCHLD, wait for any child, or run out of
 * descriptors. */
#include "koda_test.h"

#include "../lib/child.h"
#include "../lib/commands.h"

#include <pthread.h>
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

	assert_int_equal(pthread_create(&thread, NULL, wait_for_any, &done), 0);
	for (int i = 0; i < 5; i++)
		expect_a_run(*state);
	atomic_store(&done, true);
	assert_int_equal(pthread_join(thread, NULL), 0);
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
		KODA_SCRATCH_TEST(it_runs_out_of_descriptors),
	};

	(void)alarm(KODA_TOO_LONG_SECS);
	return KODA_TEST_RUN(tests);
}
