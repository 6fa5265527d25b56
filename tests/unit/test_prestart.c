/* SPDX-License-Identifier: MIT */
/* Launchers that are started early, and what a host learns of a command that has ended. */
#include "koda_test.h"

#include "../lib/scratch.h"

#include <koda/koda.h>

static const char *const env[] = { "PATH=/usr/bin:/bin", "HOME=/nonexistent", NULL };

static struct koda_sandbox_options options_for(const char *root)
{
	return (struct koda_sandbox_options){ .size = sizeof(struct koda_sandbox_options),
					      .trust = KODA_TRUST_SAFE,
					      .root = root,
					      .host_env = env };
}

/* Runs the command and leaves it to the caller, who frees it. */
static struct koda_command *run(struct koda_sandbox *sandbox, const char *shell,
				struct koda_outcome *outcome)
{
	const struct koda_command_options options = { .size = sizeof(options),
						      .shell = shell,
						      .approved = true };
	struct koda_command *command = NULL;
	struct koda_error err = { 0 };

	KODA_ASSERT_OK(koda_sandbox_start(sandbox, &options, &command, &err), err);
	*outcome = (struct koda_outcome){ .size = sizeof(*outcome) };
	KODA_ASSERT_OK(koda_command_wait(command, outcome, &err), err);
	assert_int_equal(outcome->end, KODA_END_EXITED);
	assert_int_equal(outcome->code, 0);
	return command;
}

static void unused_launcher_is_ended(void **state)
{
	struct koda_prestart *prestart = NULL;
	struct koda_error err = { 0 };

	(void)state;
	KODA_ASSERT_OK(koda_prestart(KODA_BACKEND_AUTO, &prestart, &err), err);
	assert_non_null(prestart);
	koda_prestart_free(prestart);
	koda_prestart_free(NULL);
	KODA_ASSERT_OK(koda_prestart(KODA_BACKEND_COUNT, &prestart, &err), err);
	assert_null(prestart);
}

/* The second command of the sandbox has a launcher of its own. */
static void first_command_takes_it(void **state)
{
	struct koda_sandbox_options options = options_for(*state);
	struct koda_prestart *prestart = NULL;
	struct koda_sandbox *sandbox = NULL;
	struct koda_outcome outcome;
	struct koda_error err = { 0 };

	KODA_ASSERT_OK(koda_prestart(KODA_BACKEND_NATIVE, &prestart, &err), err);
	options.prestart = prestart;
	KODA_ASSERT_OK(koda_sandbox_open(&options, &sandbox, &err), err);
	koda_prestart_free(prestart);
	koda_command_free(run(sandbox, "true", &outcome));
	koda_command_free(run(sandbox, "true", &outcome));
	koda_sandbox_close(sandbox);
}

/* A launcher of another backend is not used, and ends with the sandbox. */
static void other_backend_leaves_it(void **state)
{
	struct koda_sandbox_options options = options_for(*state);
	const struct koda_command_options command = { .size = sizeof(command),
						      .shell = "true",
						      .approved = true };
	struct koda_prestart *prestart = NULL;
	struct koda_sandbox *sandbox = NULL;
	struct koda_command *running = NULL;
	struct koda_outcome outcome = { .size = sizeof(outcome) };
	struct koda_error err = { 0 };

	KODA_ASSERT_OK(koda_prestart(KODA_BACKEND_NATIVE, &prestart, &err), err);
	options.prestart = prestart;
	options.no_sandbox = true;
	KODA_ASSERT_OK(koda_sandbox_open(&options, &sandbox, &err), err);
	koda_prestart_free(prestart);
	KODA_ASSERT_OK(koda_sandbox_start(sandbox, &command, &running, &err), err);
	KODA_ASSERT_OK(koda_command_wait(running, &outcome, &err), err);
	assert_int_equal(outcome.end, KODA_END_EXITED);
	koda_command_free(running);
	koda_sandbox_close(sandbox);
}

static void tells_unfinished_lines(void **state)
{
	static const struct {
		const char *shell;
		bool out;
		bool err;
	} rows[] = {
		{ "true", false, false },
		{ "printf a; printf b >&2", true, true },
		{ "echo a; printf b >&2", false, true },
		{ "printf a; echo b >&2", true, false },
	};
	struct koda_sandbox_options options = options_for(*state);
	struct koda_sandbox *sandbox = NULL;
	struct koda_outcome outcome;
	struct koda_error err = { 0 };

	KODA_ASSERT_OK(koda_sandbox_open(&options, &sandbox, &err), err);
	KODA_EACH(row, rows) {
		koda_command_free(run(sandbox, row->shell, &outcome));
		KODA_EXPECT(row->shell, outcome.ends_mid_line[0] == row->out);
		KODA_EXPECT(row->shell, outcome.ends_mid_line[1] == row->err);
	}
	koda_sandbox_close(sandbox);
}

static void tells_limits_and_what_is_left(void **state)
{
	struct koda_sandbox_options options = options_for(*state);
	struct koda_event_left_behind left = { .path = NULL };
	struct koda_sandbox *sandbox = NULL;
	struct koda_command *command;
	struct koda_outcome outcome;
	struct koda_error err = { 0 };
	char path[PATH_MAX];

	(void)snprintf(path, sizeof(path), "%s/sub", (const char *)*state);
	assert_int_equal(mkdir(path, 0700), 0);
	KODA_ASSERT_OK(koda_sandbox_open(&options, &sandbox, &err), err);
	command = run(sandbox, "mkdir sub/.hg", &outcome);
	assert_int_equal(koda_command_limit(command, KODA_LIMIT_WALL_TIME), 60);
	assert_true(koda_command_limit(command, KODA_LIMIT_COUNT) == UINT64_MAX);
	assert_true(koda_command_left_behind(command, 0, &left));
	assert_int_equal(left.what, KODA_LEFT_HG_DIR);
	assert_int_equal(strncmp(left.path, path, strlen(path)), 0);
	assert_int_equal(left.more, 0);
	assert_false(koda_command_left_behind(command, 1, &left));
	assert_false(outcome.left_behind_unknown);
	koda_command_free(command);
	koda_sandbox_close(sandbox);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, koda_scratch_setup, koda_scratch_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(unused_launcher_is_ended),      TEST(first_command_takes_it),
		TEST(other_backend_leaves_it),       TEST(tells_unfinished_lines),
		TEST(tells_limits_and_what_is_left),
	};

	return KODA_TEST_RUN(tests);
}
