/* SPDX-License-Identifier: MIT */
/* Limits, environment, id and user of a single command, and the events that carry them. */
#include "koda_test.h"

#include "../lib/commands.h"

#include <signal.h>

static void limits_only_narrow(void **state)
{
	static const struct {
		enum koda_limit which;
		size_t at;
	} rows[] = {
		{ KODA_LIMIT_WALL_TIME, offsetof(struct koda_command_options, wall_time_secs) },
		{ KODA_LIMIT_MEMORY, offsetof(struct koda_command_options, max_memory_bytes) },
		{ KODA_LIMIT_OUTPUT, offsetof(struct koda_command_options, max_output_bytes) },
		{ KODA_LIMIT_PROCESSES, offsetof(struct koda_command_options, max_processes) },
	};
	struct koda_sandbox *sandbox = koda_test_open(*state, NULL, NULL);
	struct koda_command *plain = koda_test_run(sandbox, &KODA_SHELL("true"), 0);

	KODA_EACH(row, rows) {
		const uint64_t before = koda_command_limit(plain, row->which);
		const uint64_t given[] = { before - 1, before, UINT64_MAX, UINT64_MAX / 2 };

		KODA_EACH(value, given) {
			struct koda_command_options options = KODA_SHELL("true");
			struct koda_command *command;

			memcpy((char *)&options + row->at, value, sizeof(*value));
			command = koda_test_run(sandbox, &options, 0);
			assert_true(koda_command_limit(command, row->which) ==
				    (*value < before ? *value : before));
			koda_command_free(command);
		}
	}
	koda_command_free(plain);
	koda_sandbox_close(sandbox);
}

/* As the kernel has them, too. */
static void processes_are_limited_in_the_plan(void **state)
{
	struct koda_sandbox *sandbox = koda_test_open(*state, NULL, NULL);
	struct koda_command *plain =
		koda_test_run(sandbox, &KODA_SHELL("exec bash -c 'ulimit -u'"), 0);
	struct koda_command *wide = koda_test_run(
		sandbox, &KODA_SHELL("exec bash -c 'ulimit -u'", .max_processes = UINT64_MAX), 0);
	struct koda_command *narrow = koda_test_run(
		sandbox, &KODA_SHELL("exec bash -c 'ulimit -u'", .max_processes = 33), 0);

	assert_string_equal(koda_command_output(wide, 1).ptr, koda_command_output(plain, 1).ptr);
	KODA_ASSERT_SPAN(koda_command_output(narrow, 1), "33\n");
	koda_command_free(plain);
	koda_command_free(wide);
	koda_command_free(narrow);
	koda_sandbox_close(sandbox);
}

static void variables_are_added_and_replaced(void **state)
{
	struct koda_sandbox *sandbox = koda_test_open(*state, NULL, NULL);
	const char *const more[] = { "A=1", "PATH=/bin:/usr/bin", "A=2", "EMPTY=", "EQ=a=b", NULL };
	const char *const none[] = { NULL };
	struct koda_command *command = koda_test_run(
		sandbox,
		&KODA_SHELL("echo $A $PATH ${EMPTY-unset} $EQ; env | grep -c ^A=", .env = more), 0);

	KODA_ASSERT_SPAN(koda_command_output(command, 1), "2 /bin:/usr/bin a=b\n1\n");
	koda_command_free(command);
	command = koda_test_run(sandbox, &KODA_SHELL("echo ${A-unset} $PATH", .env = none), 0);
	KODA_ASSERT_SPAN(koda_command_output(command, 1), "unset /usr/bin:/bin\n");
	koda_command_free(command);
	koda_sandbox_close(sandbox);
}

static void bad_options_are_refused_with_an_event(void **state)
{
	static const char *const words[] = { "", "=x", "name" };
	char long_id[KODA_COMMAND_ID_MAX + 2];
	struct koda_told told = { .id = "mine", .user = &told };
	struct koda_sandbox *sandbox = koda_test_open(*state, koda_tell, &told);
	struct koda_command *command;
	unsigned int exits = 0;

	KODA_EACH(word, words) {
		const char *const env[] = { "GOOD=1", *word, NULL };

		KODA_TEST_REFUSED(sandbox,
				  &KODA_SHELL("true", .env = env, .id = "mine", .user = &told),
				  KODA_E_INVALID, "env");
		assert_int_equal(told.exits, ++exits);
		assert_int_equal(told.last.end, KODA_END_REFUSED);
		assert_non_null(strstr(told.message, "NAME=VALUE"));
	}
	KODA_TEST_REFUSED(sandbox, &KODA_SHELL("true", .cwd = "", .id = "mine", .user = &told),
			  KODA_E_INVALID, "cwd");
	assert_int_equal(told.exits, ++exits);
	assert_non_null(strstr(told.message, "cwd: "));
	/* Which of the two is meant? */
	KODA_TEST_REFUSED(sandbox, &KODA_SHELL("true", .argv = words, .id = "mine", .user = &told),
			  KODA_E_INVALID, "argv");
	assert_int_equal(told.exits, ++exits);
	KODA_TEST_REFUSED(sandbox, &KODA_SHELL(NULL, .id = "mine", .user = &told), KODA_E_INVALID,
			  "");
	assert_int_equal(told.exits, ++exits);
	assert_string_equal(told.message, "no command");
	assert_int_equal(told.strange + told.starts, 0);
	memset(long_id, 'i', sizeof(long_id));
	long_id[sizeof(long_id) - 1] = '\0';
	KODA_TEST_REFUSED(sandbox, &KODA_SHELL("true", .id = long_id), KODA_E_INVALID, "id");
	assert_int_equal(told.exits, ++exits);
	long_id[KODA_COMMAND_ID_MAX] = '\0';
	command = koda_test_run(sandbox, &KODA_SHELL("true", .id = long_id), 0);
	assert_string_equal(koda_command_id(command), long_id);
	koda_command_free(command);
	koda_sandbox_close(sandbox);
}

static void ids_differ_unless_given(void **state)
{
	char ids[6][256];
	struct koda_sandbox *sandbox = koda_test_open(*state, NULL, NULL);

	for (int i = 0; i < 6; i++) {
		struct koda_command *command = koda_test_run(sandbox, &KODA_SHELL("true"), 0);

		(void)snprintf(ids[i], sizeof(ids[i]), "%s", koda_command_id(command));
		koda_command_free(command);
		assert_true(ids[i][0]);
		for (int k = 0; k < i; k++)
			assert_string_not_equal(ids[i], ids[k]);
	}
	koda_sandbox_close(sandbox);
}

struct asked {
	struct koda_told told;
	struct koda_sandbox *sandbox;
	unsigned int questions;
	unsigned int wrong;
};

static void answer(void *ctx, const struct koda_question *question)
{
	struct asked *asked = ctx;

	asked->questions++;
	asked->wrong += strcmp(question->command_id, "mine") != 0 || question->user != ctx ||
			koda_sandbox_reply(asked->sandbox, question->id, false, NULL) < 0;
}

/* A denied write, a denied host, a limit and what is left behind. */
static void every_event_carries_id_and_user(void **state)
{
	struct asked asked = { .told = { .id = "mine", .user = &asked } };
	const struct koda_sandbox_options options = { .size = sizeof(options),
						      .trust = KODA_TRUST_AUTO,
						      .root = *state,
						      .host_env = koda_test_env,
						      .on_event = koda_tell,
						      .event_ctx = &asked.told,
						      .on_question = answer,
						      .question_ctx = &asked };
	struct koda_error err = { 0 };
	struct koda_command *command;

	(void)koda_make_dir(*state, "a");
	KODA_ASSERT_OK(koda_sandbox_open(&options, &asked.sandbox, &err), err);
	command = koda_test_start(
		asked.sandbox,
		&KODA_SHELL("echo gitdir: x >a/.git; touch /etc/koda-test; "
			    "exec bash -c 'exec 5<>/dev/tcp/127.0.0.1/3128 && "
			    "printf \"GET http://host.invalid/ HTTP/1.0\\r\\n\\r\\n\" >&5 && "
			    "read -r line <&5; printf 123456'",
			    .id = "mine", .user = &asked, .max_output_bytes = 4));
	assert_int_equal(koda_test_wait(command).code, 0);
	assert_string_equal(koda_command_id(command), "mine");
	koda_command_free(command);
	assert_int_equal(asked.questions, 1);
	assert_int_equal(asked.wrong, 0);
	assert_int_equal(asked.told.strange, 0);
	assert_int_equal(asked.told.starts, 1);
	assert_int_equal(asked.told.exits, 1);
	/* At least the egress, its violation, the limit and what was left behind. */
	assert_true(asked.told.others >= 4);
	koda_sandbox_close(asked.sandbox);
}

/* A SIGKILL of its own is not the host's. */
static void who_killed_it_is_told(void **state)
{
	static const struct {
		const char *shell;
		bool by_host;
	} rows[] = { { "kill -KILL $$", false }, { "exec sleep 600", true } };
	struct koda_told told = { 0 };
	struct koda_sandbox *sandbox = koda_test_open(*state, koda_tell, &told);

	KODA_EACH(row, rows) {
		struct koda_command *command = koda_test_start(sandbox, &KODA_SHELL(row->shell));
		struct koda_outcome outcome;

		if (row->by_host)
			koda_command_kill(command);
		outcome = koda_test_wait(command);
		assert_int_equal(outcome.end, KODA_END_SIGNAL);
		assert_int_equal(outcome.signal, SIGKILL);
		assert_int_equal(outcome.by_host, row->by_host);
		assert_int_equal(told.last.by_host, row->by_host);
		koda_command_kill(command); /* over: does nothing */
		koda_command_free(command);
	}
	koda_sandbox_close(sandbox);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		KODA_SCRATCH_TEST(limits_only_narrow),
		KODA_SCRATCH_TEST(processes_are_limited_in_the_plan),
		KODA_SCRATCH_TEST(variables_are_added_and_replaced),
		KODA_SCRATCH_TEST(bad_options_are_refused_with_an_event),
		KODA_SCRATCH_TEST(ids_differ_unless_given),
		KODA_SCRATCH_TEST(every_event_carries_id_and_user),
		KODA_SCRATCH_TEST(who_killed_it_is_told),
	};

	(void)alarm(KODA_TOO_LONG_SECS);
	return KODA_TEST_RUN(tests);
}
