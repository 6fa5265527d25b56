/* SPDX-License-Identifier: MIT */
/* Commands in an event loop: one thread, one epoll instance of the host, and many commands. */
#include "koda_test.h"

#include "../lib/commands.h"
#include "base/fd.h"

#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/wait.h>

#define AT_ONCE 8
/* With `make soak`, KODA_SOAK_COMMANDS says how many. */
#define COMMANDS 40

static int fd_of(struct koda_command *command)
{
	struct koda_error err = { 0 };
	int fd = koda_command_fd(command, &err);

	KODA_ASSERT_OK(fd, err);
	return fd;
}

/* Steps whenever the descriptor says so, until the command is over. */
static struct koda_outcome step_to_end(struct koda_command *command)
{
	struct koda_outcome outcome = { .size = sizeof(outcome) };
	struct koda_error err = { 0 };
	struct pollfd polled = { .fd = fd_of(command), .events = POLLIN };
	int r = 0;

	while (r == 0) {
		assert_int_equal(poll(&polled, 1, -1), 1);
		r = koda_command_step(command, &outcome, &err);
	}
	KODA_ASSERT_OK(r, err);
	assert_int_equal(r, 1);
	return outcome;
}

/* Ready until nothing is left to do, then not any more. Fails if it is always ready. */
static void expect_quiet(struct koda_command *command)
{
	struct koda_outcome outcome = { .size = sizeof(outcome) };
	struct koda_error err = { 0 };
	struct pollfd polled = { .fd = fd_of(command), .events = POLLIN };

	for (int i = 0; i < 10000; i++) {
		if (poll(&polled, 1, 200) == 0)
			return;
		assert_int_equal(koda_command_step(command, &outcome, &err), 0);
	}
	fail_msg("the descriptor is always readable");
}

struct slot {
	struct koda_command *command;
	long number;
};

static void start_slot(struct slot *slot, struct koda_sandbox *sandbox, int epoll, long number)
{
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = slot };
	char shell[64];

	(void)snprintf(shell, sizeof(shell), "echo %ld; exit %ld", number, number % 100);
	slot->number = number;
	slot->command = koda_test_start(sandbox, &KODA_SHELL(shell));
	assert_int_equal(epoll_ctl(epoll, EPOLL_CTL_ADD, fd_of(slot->command), &event), 0);
}

/* True if it is over; it had to end as it was told to. */
static bool step_slot(struct slot *slot)
{
	struct koda_outcome outcome = { .size = sizeof(outcome) };
	struct koda_error err = { 0 };
	char wanted[32];
	int r = koda_command_step(slot->command, &outcome, &err);

	KODA_ASSERT_OK(r, err);
	if (r == 0)
		return false;
	assert_int_equal(outcome.end, KODA_END_EXITED);
	assert_int_equal(outcome.code, slot->number % 100);
	(void)snprintf(wanted, sizeof(wanted), "%ld\n", slot->number);
	KODA_ASSERT_SPAN(koda_command_output(slot->command, 1), wanted);
	koda_command_free(slot->command);
	return true;
}

static void many_in_one_loop(void **state)
{
	const char *given = getenv("KODA_SOAK_COMMANDS");
	const long commands = given ? strtol(given, NULL, 10) : COMMANDS;
	struct koda_told told = { 0 };
	struct koda_sandbox *sandbox = koda_test_open(*state, koda_tell, &told);
	koda_auto_fd int epoll = epoll_create1(EPOLL_CLOEXEC);
	struct slot slots[AT_ONCE];
	long started = 0;
	long ended = 0;

	for (; started < AT_ONCE; started++)
		start_slot(&slots[started], sandbox, epoll, started);
	while (ended < commands) {
		struct epoll_event ready[AT_ONCE];
		int n = epoll_wait(epoll, ready, AT_ONCE, -1);

		assert_true(n > 0);
		for (int i = 0; i < n; i++)
			if (step_slot(ready[i].data.ptr)) {
				ended++;
				if (started < commands)
					start_slot(ready[i].data.ptr, sandbox, epoll, started++);
			}
	}
	assert_int_equal(told.starts, commands);
	assert_int_equal(told.exits, commands);
	koda_sandbox_close(sandbox);
}

static void the_wall_time_makes_it_readable(void **state)
{
	struct koda_sandbox *sandbox = koda_test_open(*state, NULL, NULL);
	struct koda_command *command = koda_test_start(
		sandbox, &KODA_SHELL("echo before; exec sleep 600", .wall_time_secs = 1));
	struct koda_outcome outcome = step_to_end(command);

	assert_int_equal(outcome.end, KODA_END_WALL_TIME);
	assert_int_equal(outcome.limits, 1U << KODA_LIMIT_WALL_TIME);
	KODA_ASSERT_SPAN(koda_command_output(command, 1), "before\n");
	koda_command_free(command);
	koda_sandbox_close(sandbox);
}

/* epoll refuses regular files, which are always ready. */
static void files_need_no_event(void **state)
{
	struct koda_sandbox *sandbox = koda_test_open(*state, NULL, NULL);
	koda_auto_fd int in = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	koda_auto_fd int out = open(koda_in(*state, "out"), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
	struct koda_command *command = koda_test_start(
		sandbox, &KODA_SHELL_TO(KODA_TO_FD(out), "cat; head -c 300000 /dev/zero",
					.max_output_bytes = 100000, .in = KODA_TO_FD(in)));
	struct koda_outcome outcome = step_to_end(command);
	struct stat of_in;
	struct stat of_out;

	assert_int_equal(outcome.end, KODA_END_EXITED);
	assert_int_equal(fstat(in, &of_in), 0);
	assert_int_equal(fstat(out, &of_out), 0);
	assert_int_equal(outcome.output_bytes, of_in.st_size + 300000);
	assert_true(of_out.st_size >= 100000 && of_out.st_size < 100100);
	koda_command_free(command);
	koda_sandbox_close(sandbox);
}

static void over_is_told_once(void **state)
{
	struct koda_sandbox *sandbox = koda_test_open(*state, NULL, NULL);
	struct koda_command *command = koda_test_start(sandbox, &KODA_SHELL("exit 5"));
	struct koda_outcome outcome = step_to_end(command);
	struct koda_error err = { 0 };
	struct pollfd polled = { .fd = fd_of(command), .events = POLLIN };

	assert_int_equal(outcome.code, 5);
	KODA_ASSERT_FAILS(KODA_E_INVALID, koda_command_step(command, &outcome, &err), err);
	KODA_ASSERT_FAILS(KODA_E_INVALID, koda_command_wait(command, &outcome, &err), err);
	assert_int_equal(poll(&polled, 1, 0), 0);
	koda_command_free(command);
	koda_sandbox_close(sandbox);
}

/* The error of a set-up that failed is the end, too. */
static void a_failed_setup_is_an_end(void **state)
{
	struct koda_told told = { 0 };
	struct koda_sandbox *sandbox = koda_test_open(*state, koda_tell, &told);
	struct koda_command *command = koda_test_start(sandbox, &KODA_SHELL("true", .cwd = "none"));
	struct koda_outcome outcome = { .size = sizeof(outcome) };
	struct koda_error err = { 0 };
	struct pollfd polled = { .fd = fd_of(command), .events = POLLIN };
	int r = 0;

	while (r == 0) {
		assert_int_equal(poll(&polled, 1, -1), 1);
		r = koda_command_step(command, &outcome, &err);
	}
	assert_true(r < 0 && err.message[0]);
	assert_int_equal(outcome.end, KODA_END_SETUP);
	assert_int_equal(told.exits, 1);
	assert_non_null(strstr(told.message, err.message));
	KODA_ASSERT_FAILS(KODA_E_INVALID, koda_command_step(command, &outcome, &err), err);
	koda_command_free(command);
	koda_sandbox_close(sandbox);
}

/* A full pipe that nobody reads; with nothing to do, the loop sleeps. */
static int full_pipe(int *ret_reader)
{
	int fds[2];

	assert_int_equal(pipe2(fds, O_CLOEXEC | O_NONBLOCK), 0);
	while (write(fds[1], "filling", 7) > 0)
		;
	while (write(fds[1], "f", 1) > 0)
		;
	*ret_reader = fds[0];
	return fds[1];
}

static void kill_gives_up_what_is_not_read(void **state)
{
	/* Killed before it ends by itself, and after. */
	static const struct {
		const char *shell;
		enum koda_end end;
	} rows[] = { { "echo lost; touch wrote; exec sleep 600", KODA_END_SIGNAL },
		     { "echo lost; touch wrote; exit 4", KODA_END_EXITED } };
	struct koda_sandbox *sandbox = koda_test_open(*state, NULL, NULL);

	KODA_EACH(row, rows) {
		koda_auto_fd int reader = -1;
		koda_auto_fd int writer = full_pipe(&reader);
		struct koda_command *command = koda_test_start(
			sandbox, &KODA_SHELL_TO(KODA_TO_FD(writer), row->shell, .untimed = true));
		struct koda_outcome outcome;

		while (access(koda_in(*state, "wrote"), F_OK) < 0)
			expect_quiet(command);
		expect_quiet(command);
		koda_command_kill(command);
		outcome = step_to_end(command);
		assert_int_equal(outcome.end, row->end);
		assert_int_equal(outcome.by_host, row->end == KODA_END_SIGNAL);
		assert_int_equal(outcome.output_errno, ETIMEDOUT);
		koda_command_free(command);
		assert_int_equal(unlink(koda_in(*state, "wrote")), 0);
	}
	koda_sandbox_close(sandbox);
}

/* A closed descriptor that the host's child still has must not keep the loop awake. */
static void a_host_that_forks_may_sleep(void **state)
{
	struct koda_sandbox *sandbox = koda_test_open(*state, NULL, NULL);
	struct koda_command *command = koda_test_start(
		sandbox, &KODA_SHELL("until [ -e go ]; do sleep 0.01; done; exec >&- 2>&-; "
				     "touch closed; exec sleep 600"));
	koda_auto_fd int reader = -1;
	koda_auto_fd int writer = -1;
	struct koda_error err = { 0 };
	char byte;
	pid_t pid;

	KODA_ASSERT_OK(koda_fd_pipe(&reader, &writer, &err), err);
	(void)fd_of(command);
	pid = fork();
	if (pid == 0) {
		(void)close(writer);
		(void)!read(reader, &byte, 1);
		_exit(0);
	}
	(void)koda_make_file(*state, "go", "");
	while (access(koda_in(*state, "closed"), F_OK) < 0)
		(void)usleep(1000);
	expect_quiet(command);
	koda_command_kill(command);
	assert_int_equal(step_to_end(command).end, KODA_END_SIGNAL);
	koda_command_free(command);
	koda_fd_close(&writer);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	koda_sandbox_close(sandbox);
}

struct asker {
	struct koda_told told;
	uint64_t question;
	unsigned int questions;
};

static void keep_question(void *ctx, const struct koda_question *question)
{
	struct asker *asker = ctx;

	asker->question = question->id;
	asker->questions++;
}

/* The host answers when it likes. Until then the connection waits, and the loop sleeps. */
static void a_question_is_answered_between_steps(void **state)
{
	struct asker asker = { .questions = 0 };
	const struct koda_sandbox_options options = { .size = sizeof(options),
						      .trust = KODA_TRUST_AUTO,
						      .root = *state,
						      .host_env = koda_test_env,
						      .on_event = koda_tell,
						      .event_ctx = &asker.told,
						      .on_question = keep_question,
						      .question_ctx = &asker };
	struct koda_sandbox *sandbox = NULL;
	struct koda_outcome outcome = { .size = sizeof(outcome) };
	struct koda_error err = { 0 };
	struct koda_command *command;
	struct pollfd polled = { .events = POLLIN };

	KODA_ASSERT_OK(koda_sandbox_open(&options, &sandbox, &err), err);
	command = koda_test_start(
		sandbox, &KODA_SHELL("exec bash -c 'exec 5<>/dev/tcp/127.0.0.1/3128 && "
				     "printf \"GET http://host.invalid/ HTTP/1.0\\r\\n\\r\\n\" >&5 "
				     "&& read -r -n 12 line <&5; echo \"$line\"'"));
	polled.fd = fd_of(command);
	while (asker.questions == 0) {
		assert_int_equal(poll(&polled, 1, -1), 1);
		assert_int_equal(koda_command_step(command, &outcome, &err), 0);
	}
	expect_quiet(command);
	KODA_ASSERT_OK(koda_sandbox_reply(sandbox, asker.question, false, &err), err);
	outcome = step_to_end(command);
	assert_int_equal(outcome.end, KODA_END_EXITED);
	KODA_ASSERT_SPAN(koda_command_output(command, 1), "HTTP/1.1 403\n");
	koda_command_free(command);
	assert_int_equal(asker.questions, 1);
	/* At least the connection and the violation. */
	assert_true(asker.told.others >= 2);
	assert_int_equal(asker.told.exits, 1);
	koda_sandbox_close(sandbox);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		KODA_SCRATCH_TEST(many_in_one_loop),
		KODA_SCRATCH_TEST(the_wall_time_makes_it_readable),
		KODA_SCRATCH_TEST(files_need_no_event),
		KODA_SCRATCH_TEST(over_is_told_once),
		KODA_SCRATCH_TEST(a_failed_setup_is_an_end),
		KODA_SCRATCH_TEST(kill_gives_up_what_is_not_read),
		KODA_SCRATCH_TEST(a_host_that_forks_may_sleep),
		KODA_SCRATCH_TEST(a_question_is_answered_between_steps),
	};

	(void)alarm(KODA_TOO_LONG_SECS);
	return KODA_TEST_RUN(tests);
}
