/* SPDX-License-Identifier: MIT */
/* Who may use a command and a sandbox, and when they are really gone. */
#include "koda_test.h"

#include "../lib/child.h"
#include "../lib/commands.h"

#include <pthread.h>

#define THREADS 4
/* Of all threads; with `make soak`, KODA_SOAK_COMMANDS says how many. */
#define COMMANDS 40

/* A callback that tries what it may not do, and may do what else is asked for. */
struct caller {
	struct koda_told told;
	struct koda_sandbox *sandbox;
	bool frees;
	unsigned int calls;
	unsigned int wrong;
};

static bool is_refused(int r, const struct koda_error *err)
{
	return r == KODA_E_INVALID && strstr(err->message, "in use");
}

static void call_back(void *ctx, struct koda_command *command, const char *bytes, size_t len)
{
	struct caller *caller = ctx;
	struct koda_outcome outcome = { .size = sizeof(outcome) };
	struct koda_error err = { 0 };
	struct koda_command *nested = NULL;

	(void)bytes;
	(void)len;
	caller->calls++;
	caller->wrong += !is_refused(koda_command_wait(command, &outcome, &err), &err);
	caller->wrong += !is_refused(koda_command_wait_for(command, 0, &outcome, &err), &err);
	caller->wrong += !is_refused(koda_command_step(command, &outcome, &err), &err);
	caller->wrong += !is_refused(koda_command_fd(command, &err), &err);
	/* Another command of the sandbox is no matter of this one. */
	if (koda_sandbox_start(caller->sandbox, &KODA_SHELL("exit 9"), &nested, &err) < 0 ||
	    koda_command_wait(nested, &outcome, &err) < 0 || outcome.code != 9)
		caller->wrong++;
	koda_command_free(nested);
	koda_command_kill(command);
	if (caller->frees)
		koda_command_free(command);
}

static void callbacks_may_kill_and_free(void **state)
{
	struct caller caller = { 0 };
	const struct koda_stream to = { .kind = KODA_STREAM_CALLBACK,
					.on_output = call_back,
					.ctx = &caller };

	caller.sandbox = koda_test_open(*state, koda_tell, &caller.told);
	for (int frees = 0; frees < 2; frees++) {
		struct koda_command *command;
		struct koda_outcome outcome;

		caller.frees = frees;
		caller.calls = 0;
		caller.told = (struct koda_told){ 0 };
		command =
			koda_test_start(caller.sandbox, &KODA_SHELL_TO(to, "echo; exec sleep 600"));
		outcome = koda_test_wait(command);
		assert_int_equal(outcome.end, KODA_END_SIGNAL);
		assert_true(outcome.by_host);
		if (!frees)
			koda_command_free(command);
		assert_int_equal(caller.calls, 1);
		assert_int_equal(caller.wrong, 0);
		assert_int_equal(caller.told.starts, 2);
		assert_int_equal(caller.told.exits, 2);
	}
	koda_sandbox_close(caller.sandbox);
}

/* An event that comes while the sandbox starts a command. */
static void start_another(void *ctx, const struct koda_event *event)
{
	struct caller *caller = ctx;
	struct koda_command *command = NULL;
	struct koda_error err = { 0 };

	if (event->type != KODA_EVENT_START)
		return;
	caller->calls++;
	caller->wrong += !is_refused(
		koda_sandbox_start(caller->sandbox, &KODA_SHELL("true"), &command, &err), &err);
	koda_sandbox_close(caller->sandbox);
}

static void an_event_may_close_the_sandbox(void **state)
{
	struct caller caller = { 0 };

	caller.sandbox = koda_test_open(*state, start_another, &caller);
	koda_command_free(koda_test_run(caller.sandbox, &KODA_SHELL("exit 3"), 3));
	assert_int_equal(caller.calls, 1);
	assert_int_equal(caller.wrong, 0);
}

static void commands_outlive_their_sandbox(void **state)
{
	struct koda_told told = { 0 };
	struct koda_sandbox *sandbox = koda_test_open(*state, koda_tell, &told);
	struct koda_command *commands[3];

	for (int i = 0; i < 3; i++)
		commands[i] = koda_test_start(
			sandbox, &KODA_SHELL("until [ -e go ]; do sleep 0.01; done; echo late"));
	koda_sandbox_close(sandbox);
	(void)koda_make_file(*state, "go", "");
	for (int i = 0; i < 3; i++) {
		assert_int_equal(koda_test_wait(commands[i]).code, 0);
		KODA_ASSERT_SPAN(koda_command_output(commands[i], 1), "late\n");
		koda_command_free(commands[i]);
	}
	assert_int_equal(told.exits, 3);
}

struct waiter {
	struct koda_command *command;
	atomic_bool waits;
	struct koda_outcome outcome;
	int r;
};

static void has_begun(void *ctx, struct koda_command *command, const char *bytes, size_t len)
{
	(void)command;
	(void)bytes;
	(void)len;
	atomic_store(&((struct waiter *)ctx)->waits, true);
}

static void *wait_in_thread(void *arg)
{
	struct waiter *waiter = arg;

	waiter->outcome.size = sizeof(waiter->outcome);
	waiter->r = koda_command_wait(waiter->command, &waiter->outcome, NULL);
	return NULL;
}

/* Freed meanwhile, it is gone when the wait returns. */
static void a_second_thread_is_refused(void **state)
{
	struct waiter waiter = { .command = NULL };
	const struct koda_stream to = { .kind = KODA_STREAM_CALLBACK,
					.on_output = has_begun,
					.ctx = &waiter };
	struct koda_told told = { 0 };
	struct koda_sandbox *sandbox = koda_test_open(*state, koda_tell, &told);
	struct koda_outcome outcome = { .size = sizeof(outcome) };
	struct koda_error err = { 0 };
	pthread_t thread;

	waiter.command = koda_test_start(sandbox, &KODA_SHELL_TO(to, "echo; exec sleep 600"));
	assert_int_equal(pthread_create(&thread, NULL, wait_in_thread, &waiter), 0);
	while (!atomic_load(&waiter.waits))
		(void)usleep(1000);
	assert_true(is_refused(koda_command_wait_for(waiter.command, 0, &outcome, &err), &err));
	assert_true(is_refused(koda_command_step(waiter.command, &outcome, &err), &err));
	assert_true(is_refused(koda_command_fd(waiter.command, &err), &err));
	koda_command_kill(waiter.command);
	koda_command_free(waiter.command);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(waiter.r, KODA_OK);
	assert_true(waiter.outcome.by_host);
	assert_int_equal(told.exits, 1);
	koda_sandbox_close(sandbox);
}

/* One sandbox for all; only starting takes turns. */
struct crew {
	struct koda_sandbox *sandbox;
	pthread_mutex_t turn;
	long each;
	atomic_uint wrong;
};

static void *work(void *arg)
{
	struct crew *crew = arg;

	for (long i = 0; i < crew->each; i++) {
		struct koda_outcome outcome = { .size = sizeof(outcome) };
		struct koda_command *command = NULL;
		char shell[64];
		char wanted[32];
		int r;

		(void)snprintf(shell, sizeof(shell), "echo $((%ld * 7)); exit %ld", i, i % 100);
		(void)snprintf(wanted, sizeof(wanted), "%ld\n", i * 7);
		(void)pthread_mutex_lock(&crew->turn);
		r = koda_sandbox_start(crew->sandbox, &KODA_SHELL(shell), &command, NULL);
		(void)pthread_mutex_unlock(&crew->turn);
		if (r < 0 || koda_command_wait(command, &outcome, NULL) < 0 ||
		    outcome.code != i % 100 ||
		    strcmp(koda_command_output(command, 1).ptr, wanted) != 0)
			crew->wrong++;
		koda_command_free(command);
	}
	return NULL;
}

static void count(void *ctx, const struct koda_event *event)
{
	if (event->type == KODA_EVENT_EXIT)
		(void)atomic_fetch_add((atomic_uint *)ctx, 1);
}

static void threads_share_a_sandbox(void **state)
{
	const char *given = getenv("KODA_SOAK_COMMANDS");
	atomic_uint exits = 0;
	struct crew crew = { .turn = PTHREAD_MUTEX_INITIALIZER,
			     .each = (given ? strtol(given, NULL, 10) : COMMANDS) / THREADS };
	pthread_t threads[THREADS];
	int before = koda_count_fds();

	crew.sandbox = koda_test_open(*state, count, &exits);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, work, &crew), 0);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	koda_sandbox_close(crew.sandbox);
	assert_int_equal(crew.wrong, 0);
	assert_int_equal(exits, crew.each * THREADS);
	assert_int_equal(koda_count_fds(), before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		KODA_SCRATCH_TEST(callbacks_may_kill_and_free),
		KODA_SCRATCH_TEST(an_event_may_close_the_sandbox),
		KODA_SCRATCH_TEST(commands_outlive_their_sandbox),
		KODA_SCRATCH_TEST(a_second_thread_is_refused),
		KODA_SCRATCH_TEST(threads_share_a_sandbox),
	};

	(void)alarm(KODA_TOO_LONG_SECS);
	return KODA_TEST_RUN(tests);
}
