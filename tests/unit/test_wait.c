/* SPDX-License-Identifier: MIT */
/* What a guardian reports, and when: the test plays its part. */
#include "koda_test.h"

#include "base/clock.h"
#include "base/fd.h"
#include "run/command.h"
#include "wire/launch_step.h"
#include "wire/report.h"

#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

struct scene {
	struct koda_sandbox sandbox;
	struct koda_command *command;
	struct koda_event last;
};

static void keep_last(void *ctx, const struct koda_event *event)
{
	struct scene *scene = ctx;

	scene->last = *event;
}

/* A command whose guardian ends at once. */
static int open_scene(void **state)
{
	char *const argv[] = { (char[]){ "true" }, NULL };
	struct scene *scene = calloc(1, sizeof(*scene));
	struct koda_command *command = calloc(1, sizeof(*command));
	struct koda_channels *channels;
	struct koda_error err = { 0 };

	assert_non_null(scene);
	assert_non_null(command);
	scene->command = command;
	scene->sandbox.backend = &koda_backend_native;
	command->sandbox = &scene->sandbox;
	scene->sandbox.references = 2; /* one is the scene's */
	command->launcher = (struct koda_launcher)KODA_LAUNCHER_INIT;
	command->input = (struct koda_relay)KODA_RELAY_INIT;
	command->output[0] = command->output[1] = (struct koda_relay)KODA_RELAY_INIT;
	command->terminal = (struct koda_terminal)KODA_TERMINAL_INIT;
	command->streams = (struct koda_streams)KODA_STREAMS_INIT;
	command->deadline_ns = KODA_DEADLINE_NEVER;
	command->announced = true;
	command->on_event = keep_last;
	command->event_ctx = scene;
	channels = &command->launcher.channels;
	KODA_ASSERT_OK(koda_fd_socketpair(&channels->status[0], &channels->status[1], &err), err);
	KODA_ASSERT_OK(koda_fd_socketpair(&channels->life[0], &channels->life[1], &err), err);
	KODA_ASSERT_OK(koda_proc_spawn(&command->launcher.proc, "/bin/true", argv, argv + 1, NULL,
				       0, &err),
		       err);
	*state = scene;
	return 0;
}

static int close_scene(void **state)
{
	struct scene *scene = *state;

	koda_command_free(scene->command);
	free(scene);
	return 0;
}

static void report(struct scene *scene, struct koda_report report)
{
	assert_int_equal(
		write(scene->command->launcher.channels.status[1], &report, sizeof(report)),
		sizeof(report));
}

static void signals_go_to_a_command_that_runs(void **state)
{
	static const int wrong[] = { -1, 0, 65, 256 + SIGTERM };
	struct scene *scene = *state;
	struct koda_outcome outcome = { .size = sizeof(outcome) };
	struct koda_error err = { 0 };
	unsigned char number = 0;

	KODA_EACH(each, wrong)
		assert_int_equal(koda_command_signal(scene->command, *each, &err), KODA_E_INVALID);
	KODA_ASSERT_OK(koda_command_signal(scene->command, SIGTERM, &err), err);
	assert_int_equal(read(scene->command->launcher.channels.life[1], &number, 1), 1);
	assert_int_equal(number, SIGTERM);
	report(scene, (struct koda_report){ .kind = KODA_REPORT_EXITED });
	KODA_ASSERT_OK(koda_command_wait(scene->command, &outcome, &err), err);
	assert_int_equal(koda_command_signal(scene->command, SIGTERM, &err), KODA_E_SYS);
	assert_true(scene->command->launcher.channels.life[0] >= 0);
	assert_int_equal(read(scene->command->launcher.channels.life[1], &number, 1), 0);
}

static void a_wait_may_end_before_the_command(void **state)
{
	struct scene *scene = *state;
	struct koda_outcome outcome = { .size = sizeof(outcome) };
	struct koda_error err = { 0 };
	unsigned char number = 0;

	assert_int_equal(koda_command_wait_for(scene->command, 0, &outcome, &err), KODA_E_TIMEOUT);
	assert_int_equal(koda_command_wait_for(scene->command, 1, &outcome, &err), KODA_E_TIMEOUT);
	assert_int_equal(scene->last.type, 0); /* nobody was told that it had ended */
	koda_command_kill(scene->command);
	assert_int_equal(read(scene->command->launcher.channels.life[1], &number, 1), 1);
	assert_int_equal(number, SIGKILL);
	report(scene, (struct koda_report){ .kind = KODA_REPORT_EXITED, .status = SIGKILL });
	KODA_ASSERT_OK(koda_command_wait_for(scene->command, UINT64_MAX, &outcome, &err), err);
	assert_int_equal(outcome.end, KODA_END_SIGNAL);
	assert_int_equal(outcome.signal, SIGKILL);
	assert_int_equal(koda_command_wait_for(scene->command, 0, &outcome, &err), KODA_E_INVALID);
}

/* The wall time counts, however long the wait may be. */
static void the_wall_time_ends_a_longer_wait(void **state)
{
	struct scene *scene = *state;
	struct koda_outcome outcome = { .size = sizeof(outcome) };
	struct koda_error err = { 0 };

	scene->command->deadline_ns = koda_clock_now() + 1000000;
	KODA_ASSERT_OK(koda_command_wait_for(scene->command, 60000, &outcome, &err), err);
	assert_int_equal(outcome.end, KODA_END_WALL_TIME);
}

static void who_waits_late_hears_how_it_ended(void **state)
{
	struct scene *scene = *state;
	struct koda_outcome outcome = { .size = sizeof(outcome) };
	struct koda_error err = { 0 };

	scene->command->deadline_ns = koda_clock_now();
	report(scene, (struct koda_report){ .kind = KODA_REPORT_LIMIT,
					    .status = KODA_REPORT_LIMIT_PROCESSES });
	report(scene, (struct koda_report){ .kind = KODA_REPORT_EXITED, .status = 3 << 8 });
	KODA_ASSERT_OK(koda_command_wait(scene->command, &outcome, &err), err);
	assert_int_equal(outcome.end, KODA_END_EXITED);
	assert_int_equal(outcome.code, 3);
	assert_int_equal(outcome.limits, 1U << KODA_LIMIT_PROCESSES);
}

static void a_limit_that_is_told_after_the_end_counts(void **state)
{
	struct scene *scene = *state;
	struct koda_outcome outcome = { .size = sizeof(outcome) };
	struct koda_error err = { 0 };

	report(scene, (struct koda_report){ .kind = KODA_REPORT_EXITED, .status = 3 << 8 });
	report(scene, (struct koda_report){ .kind = KODA_REPORT_EXITED, .status = 4 << 8 });
	report(scene, (struct koda_report){ .kind = KODA_REPORT_LIMIT,
					    .status = KODA_REPORT_LIMIT_MEMORY });
	KODA_ASSERT_OK(koda_command_wait(scene->command, &outcome, &err), err);
	assert_int_equal(outcome.end, KODA_END_EXITED);
	assert_int_equal(outcome.code, 3);
	assert_int_equal(outcome.limits, 1U << KODA_LIMIT_MEMORY);
}

static void a_setup_that_failed_has_the_status_of_the_program(void **state)
{
	struct scene *scene = *state;
	struct koda_outcome outcome = { .size = sizeof(outcome) };
	struct koda_error err = { 0 };

	report(scene, (struct koda_report){ .kind = KODA_REPORT_SETUP_FAILED, .sys_errno = EPERM });
	assert_true(koda_command_wait(scene->command, &outcome, &err) < 0);
	assert_int_equal(err.sys_errno, EPERM);
	assert_int_equal(outcome.end, KODA_END_SETUP);
	assert_int_equal(scene->last.type, KODA_EVENT_EXIT);
	assert_int_equal(scene->last.data.exit.code, 125);
	assert_int_equal(scene->last.data.exit.end, KODA_END_SETUP);
}

static void a_lock_that_somebody_keeps_has_a_remedy(void **state)
{
	struct scene *scene = *state;
	struct koda_outcome outcome = { .size = sizeof(outcome) };
	struct koda_error err = { 0 };

	report(scene, (struct koda_report){ .kind = KODA_REPORT_SETUP_FAILED,
					    .sys_errno = EBUSY,
					    .step = KODA_LAUNCH_PARENT_LOCKED,
					    .path = "/srv/app/.envrc" });
	assert_true(koda_command_wait(scene->command, &outcome, &err) < 0);
	assert_non_null(strstr(err.message, "(flock) on it, then run it again"));
}

/* Without a deadline it would try again for ever. */
static void waiting_that_is_not_possible_ends_it(void **state)
{
	struct scene *scene = *state;
	struct koda_outcome outcome = { .size = sizeof(outcome) };
	struct koda_error err = { 0 };
	struct rlimit before;
	int r;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &(struct rlimit){ 0, before.rlim_max }), 0);
	r = koda_command_wait(scene->command, &outcome, &err);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_int_equal(r, KODA_E_CHILD);
	assert_int_equal(outcome.end, KODA_END_SETUP);
	assert_int_equal(err.sys_errno, EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(signals_go_to_a_command_that_runs, open_scene,
						close_scene),
		cmocka_unit_test_setup_teardown(a_wait_may_end_before_the_command, open_scene,
						close_scene),
		cmocka_unit_test_setup_teardown(the_wall_time_ends_a_longer_wait, open_scene,
						close_scene),
		cmocka_unit_test_setup_teardown(who_waits_late_hears_how_it_ended, open_scene,
						close_scene),
		cmocka_unit_test_setup_teardown(a_limit_that_is_told_after_the_end_counts,
						open_scene, close_scene),
		cmocka_unit_test_setup_teardown(a_setup_that_failed_has_the_status_of_the_program,
						open_scene, close_scene),
		cmocka_unit_test_setup_teardown(a_lock_that_somebody_keeps_has_a_remedy, open_scene,
						close_scene),
		cmocka_unit_test_setup_teardown(waiting_that_is_not_possible_ends_it, open_scene,
						close_scene),
	};

	return KODA_TEST_RUN(tests);
}
