/* SPDX-License-Identifier: MIT */
/* The library as a host with one thread uses it: waits that end, directories, exactly one end. */
#include "koda_test.h"

#include "../lib/scratch.h"
#include "base/buf.h"
#include "base/fd.h"

#include <fcntl.h>
#include <koda/koda.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

/* Nothing here waits so long; who does is ended by SIGALRM. */
#define TOO_LONG_SECS 120

static const char *const env[] = { "PATH=/usr/bin:/bin", "HOME=/nonexistent", NULL };

struct seen {
	unsigned int starts;
	unsigned int exits;
	unsigned int left; /* behind, before the exit */
	unsigned int unseen;
	struct koda_event_exit last;
};

static void see(void *ctx, const struct koda_event *event)
{
	struct seen *seen = ctx;

	seen->starts += event->type == KODA_EVENT_START;
	seen->exits += event->type == KODA_EVENT_EXIT;
	seen->left += event->type == KODA_EVENT_LEFT_BEHIND && seen->exits == 0;
	seen->unseen += event->type == KODA_EVENT_LEFT_BEHIND &&
			event->data.left_behind.what == KODA_LEFT_UNSEEN;
	if (event->type == KODA_EVENT_EXIT)
		seen->last = event->data.exit;
}

static struct koda_sandbox *open_one(const char *root, struct seen *seen)
{
	const struct koda_sandbox_options options = { .size = sizeof(options),
						      .trust = KODA_TRUST_AUTO,
						      .root = root,
						      .host_env = env,
						      .on_event = see,
						      .event_ctx = seen };
	struct koda_sandbox *sandbox = NULL;
	struct koda_error err = { 0 };

	KODA_ASSERT_OK(koda_sandbox_open(&options, &sandbox, &err), err);
	return sandbox;
}

static struct koda_command *start(struct koda_sandbox *sandbox, const char *shell, const char *cwd,
				  int out)
{
	const struct koda_command_options options = {
		.size = sizeof(options),
		.shell = shell,
		.cwd = cwd,
		.out = { .kind = out < 0 ? KODA_STREAM_NULL : KODA_STREAM_FD, .fd = out }
	};
	struct koda_command *command = NULL;
	struct koda_error err = { 0 };

	KODA_ASSERT_OK(koda_sandbox_start(sandbox, &options, &command, &err), err);
	return command;
}

/* As much as it takes; returns how much that was. */
static size_t fill(int fd)
{
	const char bytes[4096] = { 0 };
	int flags = fcntl(fd, F_GETFL);
	size_t all = 0;
	ssize_t n;

	assert_int_equal(fcntl(fd, F_SETFL, flags | O_NONBLOCK), 0);
	while ((n = write(fd, bytes, sizeof(bytes))) > 0)
		all += (size_t)n;
	assert_int_equal(fcntl(fd, F_SETFL, flags), 0);
	return all;
}

static size_t empty(int fd)
{
	char bytes[4096];
	size_t all = 0;
	ssize_t n;

	assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
	while ((n = read(fd, bytes, sizeof(bytes))) > 0)
		all += (size_t)n;
	return all;
}

/* Waits in vain until the command has ended and only its output is left. */
static void wait_for_end(struct koda_command *command)
{
	struct koda_outcome outcome = { .size = sizeof(outcome) };
	struct koda_error err = { 0 };

	for (int i = 0; i < 600; i++) {
		assert_int_equal(koda_command_wait_for(command, 50, &outcome, &err),
				 KODA_E_TIMEOUT);
		if (strstr(err.message, "has ended"))
			return;
	}
	fail_msg("it does not end: %s", err.message);
}

/* A host that reads only after the wait has returned. */
static void a_full_pipe_does_not_hold_a_wait(void **state)
{
	/* Less than a pipe holds; more than the limit of output, so that a tail is kept as well. */
	static const struct {
		const char *shell;
		size_t len;
	} rows[] = { { "head -c 5000 /dev/zero", 5000 }, { "head -c 2000000 /dev/zero", 2000000 } };
	struct seen seen = { 0 };
	struct koda_sandbox *sandbox = open_one(*state, &seen);

	KODA_EACH(row, rows) {
		struct koda_outcome outcome = { .size = sizeof(outcome) };
		struct koda_error err = { 0 };
		koda_auto_fd int reader = -1;
		koda_auto_fd int writer = -1;
		struct koda_command *command;
		size_t before;
		size_t got = 0;
		int r;

		seen = (struct seen){ 0 };
		KODA_ASSERT_OK(koda_fd_pipe(&reader, &writer, &err), err);
		before = fill(writer);
		command = start(sandbox, row->shell, NULL, writer);
		if (row->len < 65536)
			wait_for_end(command);
		assert_int_equal(seen.exits, 0);
		do {
			r = koda_command_wait_for(command, 10, &outcome, &err);
			got += empty(reader);
		} while (r == KODA_E_TIMEOUT);
		KODA_ASSERT_OK(r, err);
		assert_int_equal(got, before + row->len);
		assert_int_equal(outcome.end, KODA_END_EXITED);
		assert_int_equal(outcome.output_bytes, row->len);
		assert_int_equal(outcome.output_errno, 0);
		assert_int_equal(seen.exits, 1);
		koda_command_free(command);
		assert_int_equal(seen.exits, 1);
	}
	koda_sandbox_close(sandbox);
}

/* Nor does one that is never read hold it past the wall time; what is lost is told. */
static void a_pipe_that_is_never_read_is_given_up(void **state)
{
	struct seen seen = { 0 };
	struct koda_outcome outcome = { .size = sizeof(outcome) };
	struct koda_policy *policy = NULL;
	struct koda_sandbox *sandbox = NULL;
	struct koda_command *command = NULL;
	struct koda_error err = { 0 };
	koda_auto_fd int reader = -1;
	koda_auto_fd int writer = -1;

	KODA_ASSERT_OK(koda_policy_for_trust(KODA_TRUST_AUTO, *state, &policy, &err), err);
	KODA_ASSERT_OK(koda_policy_set_limit(policy, KODA_LIMIT_WALL_TIME, 3, &err), err);
	KODA_ASSERT_OK(koda_sandbox_open(
			       &(const struct koda_sandbox_options){
				       .size = sizeof(struct koda_sandbox_options),
				       .trust = KODA_TRUST_AUTO,
				       .root = *state,
				       .policy = policy,
				       .host_env = env,
				       .on_event = see,
				       .event_ctx = &seen },
			       &sandbox, &err),
		       err);
	KODA_ASSERT_OK(koda_fd_pipe(&reader, &writer, &err), err);
	(void)fill(writer);
	command = start(sandbox, "echo lost; exit 3", NULL, writer);
	KODA_ASSERT_OK(koda_command_wait(command, &outcome, &err), err);
	assert_int_equal(outcome.end, KODA_END_EXITED);
	assert_int_equal(outcome.code, 3);
	assert_int_equal(outcome.output_errno, ETIMEDOUT);
	koda_command_free(command);
	koda_sandbox_close(sandbox);
	koda_policy_free(policy);
}

static void relative_directories_start_at_the_root(void **state)
{
	static const struct {
		const char *cwd;
		const char *below;
	} rows[] = { { "sub", "/sub" }, { "./sub/", "/sub" },    { "sub/..", "" },
		     { ".", "" },       { "link", "/sub/deep" }, { "sub/../sub", "/sub" } };
	struct seen seen = { 0 };
	struct koda_sandbox *sandbox = open_one(*state, &seen);
	char *text = NULL;

	(void)koda_make_dir(*state, "sub");
	(void)koda_make_dir(*state, "sub/deep");
	assert_int_equal(symlink("sub/deep", koda_in(*state, "link")), 0);
	KODA_EACH(row, rows) {
		koda_auto_buf struct koda_buf out = KODA_BUF_INIT(8192);
		koda_auto_fd int file = memfd_create("out", MFD_CLOEXEC);
		struct koda_outcome outcome = { .size = sizeof(outcome) };
		struct koda_error err = { 0 };
		struct koda_command *command = start(sandbox, "pwd -P", row->cwd, file);
		char wanted[PATH_MAX];

		KODA_ASSERT_OK(koda_command_wait(command, &outcome, &err), err);
		assert_int_equal(outcome.end, KODA_END_EXITED);
		koda_command_free(command);
		assert_int_equal(lseek(file, 0, SEEK_SET), 0);
		KODA_ASSERT_OK(koda_fd_read_all(file, &out, &err), err);
		assert_int_equal(koda_buf_add(&out, "", 1), KODA_OK);
		(void)snprintf(wanted, sizeof(wanted), "%s%s\n", (const char *)*state, row->below);
		assert_string_equal(out.ptr, wanted);
	}
	{
		const struct koda_command_options options = { .size = sizeof(options),
							      .shell = "true",
							      .cwd = "" };
		struct koda_command *command = NULL;
		struct koda_error err = { 0 };

		KODA_ASSERT_FAILS(KODA_E_INVALID,
				  koda_sandbox_start(sandbox, &options, &command, &err), err);
		assert_string_equal(err.field, "cwd");
		KODA_ASSERT_FAILS(KODA_E_INVALID, koda_sandbox_plan(sandbox, &options, &text, &err),
				  err);
	}
	koda_sandbox_close(sandbox);
}

/* T-92. Also of a command that nobody has waited for to the end. */
static void what_is_left_is_told_on_free(void **state)
{
	static const char *const scripts[] = {
		"echo gitdir: x >a/.git; echo >made; exec sleep 600",
		"echo gitdir: x >b/.git; echo >made",
	};
	struct seen seen = { 0 };
	struct koda_sandbox *sandbox;

	(void)koda_make_dir(*state, "a");
	(void)koda_make_dir(*state, "b");
	sandbox = open_one(*state, &seen);
	KODA_EACH(script, scripts) {
		struct koda_command *command = start(sandbox, *script, NULL, -1);

		while (access(koda_in(*state, "made"), F_OK) < 0)
			(void)usleep(1000);
		koda_command_free(command);
		assert_int_equal(unlink(koda_in(*state, "made")), 0);
		assert_int_equal(seen.left, 1);
		assert_int_equal(seen.exits, 1);
		seen = (struct seen){ 0 };
	}
	koda_sandbox_close(sandbox);
}

/* Nothing can be opened when it is looked for. */
static void that_nothing_could_be_looked_for_is_told(void **state)
{
	struct seen seen = { 0 };
	struct koda_sandbox *sandbox;
	struct koda_command *command;
	struct rlimit files;
	struct rlimit few;

	(void)koda_make_dir(*state, "a");
	sandbox = open_one(*state, &seen);
	command = start(sandbox, "echo gitdir: x >a/.git; echo >made; exec sleep 600", NULL, -1);
	while (access(koda_in(*state, "made"), F_OK) < 0)
		(void)usleep(1000);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
	few = (struct rlimit){ 3, files.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	koda_command_free(command);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &files), 0);
	assert_int_equal(seen.unseen, 1);
	assert_int_equal(seen.exits, 1);
	koda_sandbox_close(sandbox);
}

static void expect_end(struct seen *seen, enum koda_end end, int code, int signal)
{
	assert_int_equal(seen->starts, 1);
	assert_int_equal(seen->exits, 1);
	assert_int_equal(seen->last.end, end);
	assert_int_equal(seen->last.code, code);
	assert_int_equal(seen->last.signal, signal);
	*seen = (struct seen){ 0 };
}

/* However a command ends, and whoever waits. */
static void every_start_has_one_end(void **state)
{
	struct seen seen = { 0 };
	struct koda_sandbox *sandbox = open_one(*state, &seen);
	struct koda_outcome outcome = { .size = sizeof(outcome) };
	struct koda_error err = { 0 };
	koda_auto_fd int reader = -1;
	koda_auto_fd int writer = -1;
	struct koda_command *command = start(sandbox, "exit 3", NULL, -1);

	KODA_ASSERT_OK(koda_command_wait(command, &outcome, &err), err);
	koda_command_free(command);
	expect_end(&seen, KODA_END_EXITED, 3, 0);
	/* Freed while it runs. */
	koda_command_free(start(sandbox, "sleep 600", NULL, -1));
	expect_end(&seen, KODA_END_SIGNAL, -1, SIGKILL);
	command = start(sandbox, "sleep 600", NULL, -1);
	assert_int_equal(koda_command_wait_for(command, 50, &outcome, &err), KODA_E_TIMEOUT);
	koda_command_free(command);
	expect_end(&seen, KODA_END_SIGNAL, -1, SIGKILL);
	/* Killed, and freed without a wait. */
	command = start(sandbox, "sleep 600", NULL, -1);
	koda_command_kill(command);
	koda_command_free(command);
	expect_end(&seen, KODA_END_SIGNAL, -1, SIGKILL);
	/* Ended by itself, with output that was not taken. */
	KODA_ASSERT_OK(koda_fd_pipe(&reader, &writer, &err), err);
	(void)fill(writer);
	command = start(sandbox, "echo; exit 4", NULL, writer);
	wait_for_end(command);
	koda_command_free(command);
	expect_end(&seen, KODA_END_EXITED, 4, 0);
	/* The launcher cannot start there. */
	command = start(sandbox, "true", "none", -1);
	assert_true(koda_command_wait(command, &outcome, &err) < 0);
	assert_int_equal(outcome.end, KODA_END_SETUP);
	koda_command_free(command);
	expect_end(&seen, KODA_END_SETUP, 125, 0);
	koda_sandbox_close(sandbox);
	assert_int_equal(seen.starts + seen.exits, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		KODA_SCRATCH_TEST(a_full_pipe_does_not_hold_a_wait),
		KODA_SCRATCH_TEST(a_pipe_that_is_never_read_is_given_up),
		KODA_SCRATCH_TEST(relative_directories_start_at_the_root),
		KODA_SCRATCH_TEST(every_start_has_one_end),
		KODA_SCRATCH_TEST(what_is_left_is_told_on_free),
		KODA_SCRATCH_TEST(that_nothing_could_be_looked_for_is_told),
	};

	(void)alarm(TOO_LONG_SECS);
	return KODA_TEST_RUN(tests);
}
