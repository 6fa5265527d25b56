/* SPDX-License-Identifier: MIT */
/* T-106. The client of the file worker, with a worker that does as it is told: tests/lib/fs_peer.c.
 */
#include "koda_test.h"

#include "../lib/commands.h"
#include "run/fs/fs.h"

#include <poll.h>

static struct koda_fs *open_fs(struct koda_sandbox *sandbox, const char *const *env)
{
	const struct koda_fs_options options = { .size = sizeof(options), .env = env };
	struct koda_error err = { 0 };
	struct koda_fs *fs = NULL;

	KODA_ASSERT_OK(koda_fs_open_program(sandbox, &options, KODA_TEST_PEER, &fs, &err), err);
	return fs;
}

static struct koda_fs_request reading(const char *path)
{
	return (struct koda_fs_request){ .size = sizeof(struct koda_fs_request),
					 .op = KODA_FS_OP_READ,
					 .path = { path, strlen(path) } };
}

static void expect_content(struct koda_fs *fs, const char *path, const char *content)
{
	const struct koda_fs_request request = reading(path);
	const struct koda_fs_reply *reply;
	struct koda_error err = { 0 };

	KODA_ASSERT_OK(koda_fs_call(fs, &request, &reply, &err), err);
	KODA_ASSERT_SPAN(reply->content, content);
}

static void it_has_what_it_needs_and_nothing_else(void **state)
{
	static const char *const env[] = { "ONLY=this", NULL };
	struct koda_sandbox *sandbox = koda_test_open(*state, NULL, NULL);
	struct koda_fs *fs = open_fs(sandbox, env);

	expect_content(fs, "env", "ONLY=this\n");
	koda_fs_close(fs);
	fs = open_fs(sandbox, NULL);
	koda_sandbox_close(sandbox);
	expect_content(fs, "env", "");
	expect_content(fs, "echo x", "x");
	koda_fs_close(fs);
}

/* What ends the worker: the status of the request is CRASHED, it is not sent again, and a new
 * worker can be had. */
static void a_crash_is_told_and_not_retried(void **state)
{
	static const struct {
		const char *path, *message;
	} rows[] = {
		{ "abort", "signal 6" },     { "exit", "status 3: no more" },
		{ "junk", "the protocol" },  { "lie", "the protocol" },
		{ "other", "the protocol" },
	};
	struct koda_sandbox *sandbox = koda_test_open(*state, NULL, NULL);
	struct koda_fs *fs = open_fs(sandbox, NULL);

	KODA_EACH(row, rows) {
		const struct koda_fs_request request = reading(row->path);
		const struct koda_fs_request after = reading("echo x");
		const struct koda_fs_reply *reply = NULL;
		struct koda_error err = { 0 };

		KODA_ASSERT_FAILS(KODA_E_CHILD, koda_fs_call(fs, &request, &reply, &err), err);
		KODA_EXPECT(row->path, strstr(err.message, row->message));
		KODA_EXPECT(row->path, reply && reply->status == KODA_FS_STATUS_CRASHED);
		KODA_ASSERT_FAILS(KODA_E_CHILD, koda_fs_call(fs, &after, &reply, &err), err);
		KODA_EXPECT(row->path, !reply);
		KODA_ASSERT_OK(koda_fs_restart(fs, &err), err);
		expect_content(fs, "echo again", "again");
	}
	koda_fs_close(fs);
	koda_sandbox_close(sandbox);
}

struct tally {
	unsigned int ok, cancelled, crashed, other;
};

static void count(void *ctx, const struct koda_fs_reply *reply)
{
	struct tally *tally = ctx;

	tally->ok += reply->status == KODA_FS_STATUS_OK;
	tally->cancelled += reply->status == KODA_FS_STATUS_CANCELLED;
	tally->crashed += reply->status == KODA_FS_STATUS_CRASHED;
	tally->other += reply->status != KODA_FS_STATUS_OK &&
			reply->status != KODA_FS_STATUS_CANCELLED &&
			reply->status != KODA_FS_STATUS_CRASHED;
}

static int steps_until_over(struct koda_fs *fs)
{
	struct koda_error err = { 0 };
	int r;

	while ((r = koda_fs_step(fs, &err)) == 0) {
		struct pollfd polled = { .fd = koda_fs_fd(fs, &err), .events = POLLIN };

		assert_true(polled.fd >= 0);
		assert_true(poll(&polled, 1, -1) == 1);
	}
	return r;
}

#define MANY 300

static void many_requests_are_on_their_way(void **state)
{
	static const char content[200000] = "c";
	struct koda_sandbox *sandbox = koda_test_open(*state, NULL, NULL);
	struct koda_fs *fs = open_fs(sandbox, NULL);
	struct koda_error err = { 0 };
	struct tally tally = { 0 };
	struct koda_fs_request request = reading("echo text");
	struct koda_fs_request writing = { .size = sizeof(writing),
					   .op = KODA_FS_OP_WRITE,
					   .path = { "x", 1 },
					   .content = { content, sizeof(content) } };

	request.on_done = writing.on_done = count;
	request.ctx = writing.ctx = &tally;
	for (int i = 0; i < MANY; i++)
		KODA_ASSERT_OK(koda_fs_send(fs, i % 10 ? &request : &writing, NULL, &err), err);
	assert_int_equal(steps_until_over(fs), 1);
	assert_int_equal(tally.ok, MANY);
	koda_fs_close(fs);
	koda_sandbox_close(sandbox);
}

static void requests_end_also_without_a_reply(void **state)
{
	struct koda_sandbox *sandbox = koda_test_open(*state, NULL, NULL);
	struct koda_fs *fs = open_fs(sandbox, NULL);
	struct koda_error err = { 0 };
	struct tally tally = { 0 };
	struct koda_fs_request request = reading("hang");
	uint64_t id = 0;

	request.on_done = count;
	request.ctx = &tally;
	KODA_ASSERT_OK(koda_fs_send(fs, &request, &id, &err), err);
	assert_int_equal(koda_fs_step(fs, &err), 0);
	KODA_ASSERT_OK(koda_fs_cancel(fs, id, &err), err);
	KODA_ASSERT_FAILS(KODA_E_INVALID, koda_fs_cancel(fs, id + 1, &err), err);
	assert_int_equal(steps_until_over(fs), 1);
	assert_int_equal(tally.cancelled, 1);
	/* A worker that does not look at the deadline. */
	request.timeout_ms = 1;
	KODA_ASSERT_FAILS(KODA_E_TIMEOUT, koda_fs_call(fs, &request, NULL, &err), err);
	assert_int_equal(tally.other, 1);
	expect_content(fs, "echo on", "on");
	/* A worker that goes. */
	request.timeout_ms = 0;
	KODA_ASSERT_OK(koda_fs_send(fs, &request, NULL, &err), err);
	request.path = koda_span_of("abort");
	KODA_ASSERT_OK(koda_fs_send(fs, &request, NULL, &err), err);
	assert_int_equal(steps_until_over(fs), KODA_E_CHILD);
	assert_int_equal(tally.crashed, 2);
	koda_fs_close(fs);
	koda_sandbox_close(sandbox);
}

struct seen {
	unsigned int violations;
	char text[256];
};

static void see(void *ctx, const struct koda_event *event)
{
	struct seen *seen = ctx;

	if (event->type != KODA_EVENT_VIOLATION)
		return;
	seen->violations++;
	(void)snprintf(seen->text, sizeof(seen->text), "%d %d %s %s %s %s",
		       (int)event->data.violation.kind, (int)event->data.violation.source,
		       event->data.violation.target, event->data.violation.rule,
		       event->data.violation.command, event->data.violation.call);
}

static void denials_are_violations(void **state)
{
	const struct koda_fs_request request = reading("deny");
	const struct koda_fs_reply *reply;
	struct seen seen = { 0 };
	struct koda_sandbox *sandbox = koda_test_open(*state, see, &seen);
	struct koda_fs *fs = open_fs(sandbox, NULL);
	struct koda_error err = { 0 };
	char want[256];

	(void)snprintf(want, sizeof(want),
		       "%d %d /secret/x fs.deny_read /secret koda-fs-worker read",
		       (int)KODA_VIOLATION_FILE_READ, (int)KODA_SOURCE_WORKER);
	KODA_ASSERT_FAILS(KODA_E_DENIED, koda_fs_call(fs, &request, &reply, &err), err);
	assert_non_null(strstr(err.message, "fs.deny_read"));
	KODA_ASSERT_SPAN(reply->path, "/secret/x");
	assert_int_equal(seen.violations, 1);
	assert_string_equal(seen.text, want);
	koda_fs_close(fs);
	koda_sandbox_close(sandbox);
}

/* Attempts, each with a twin that shows the act allowed, or what the kernel says of the process. */
static const char attempts[] =
	"echo new >inside && cat inside; "
	"echo new >/var/tmp/../lib/koda-outside && echo wrote outside; "
	"cat open; cat hidden; ls -d hidden/.; echo new >kept; cat kept; rm kept; "
	"echo new >.git/hooks/x && echo wrote a hook; "
	"cat /proc/net/dev | wc -l; "
	"mount -t tmpfs none /mnt && echo mounted; "
	"unshare -U true && echo user namespace; "
	"kill -0 $1 && echo saw a process of the host; "
	"grep -E '^(CapEff|CapBnd|NoNewPrivs|Seccomp)' /proc/self/status; "
	"ls /proc/self/ns/net >/dev/null && echo looked; ulimit -c; ulimit -n; umask; id -u";

static struct koda_sandbox *open_with_rules(const char *root)
{
	struct koda_sandbox_options options = { .size = sizeof(options),
						.trust = KODA_TRUST_AUTO,
						.root = root,
						.host_env = koda_test_env };
	struct koda_policy *policy = NULL;
	struct koda_sandbox *sandbox = NULL;
	struct koda_error err = { 0 };
	char path[PATH_MAX];

	KODA_ASSERT_OK(koda_policy_for_trust(KODA_TRUST_AUTO, root, &policy, &err), err);
	(void)snprintf(path, sizeof(path), "%s/hidden", root);
	KODA_ASSERT_OK(koda_policy_add(policy, KODA_LIST_DENY_READ, path, strlen(path), &err), err);
	(void)snprintf(path, sizeof(path), "%s/kept", root);
	KODA_ASSERT_OK(koda_policy_add(policy, KODA_LIST_DENY_WRITE_WITHIN_ALLOW, path,
				       strlen(path), &err),
		       err);
	options.policy = policy;
	KODA_ASSERT_OK(koda_sandbox_open(&options, &sandbox, &err), err);
	koda_policy_free(policy);
	return sandbox;
}

/* T-106. A program of an attacker's choice in the worker's place. */
static void taken_over_it_can_do_what_a_command_can(void **state)
{
	const char *dir = *state;
	struct koda_error err = { 0 };
	const struct koda_fs_reply *reply;
	struct koda_fs_request request;
	struct koda_sandbox *sandbox;
	struct koda_command *command;
	struct koda_span by_command;
	struct koda_fs *fs;
	char text[4096];

	(void)koda_make_file(dir, "open", "open\n");
	(void)koda_make_file(dir, "hidden", "secret\n");
	(void)koda_make_file(dir, "kept", "kept\n");
	(void)snprintf(text, sizeof(text), "sh { set -- %d; %s; } 2>&1", (int)getpid(), attempts);
	sandbox = open_with_rules(dir);
	command = koda_test_run(sandbox, &KODA_SHELL(text + 3), 0);
	by_command = koda_command_output(command, 1);
	assert_non_null(strstr(by_command.ptr, "new\n"));
	assert_non_null(strstr(by_command.ptr, "open\n"));
	assert_non_null(strstr(by_command.ptr, "kept\n"));
	assert_null(strstr(by_command.ptr, "secret"));
	assert_null(strstr(by_command.ptr, "wrote"));
	assert_null(strstr(by_command.ptr, "mounted"));
	fs = open_fs(sandbox, koda_test_env);
	request = reading(text);
	KODA_ASSERT_OK(koda_fs_call(fs, &request, &reply, &err), err);
	KODA_ASSERT_SPAN(reply->content, by_command.ptr);
	expect_content(fs, "fds", "0 1 2 3 4 5 ");
	koda_fs_close(fs);
	koda_command_free(command);
	koda_sandbox_close(sandbox);
}

static void wrong_requests_are_not_sent(void **state)
{
	struct koda_sandbox *sandbox = koda_test_open(*state, NULL, NULL);
	struct koda_fs *fs = open_fs(sandbox, NULL);
	struct koda_error err = { 0 };
	struct koda_fs_request request = reading("");

	KODA_ASSERT_FAILS(KODA_E_INVALID, koda_fs_call(fs, &request, NULL, &err), err);
	request = reading("echo x");
	request.flags = KODA_FS_ALL;
	KODA_ASSERT_FAILS(KODA_E_INVALID, koda_fs_call(fs, &request, NULL, &err), err);
	request = reading("echo x");
	request.size--;
	KODA_ASSERT_FAILS(KODA_E_INVALID, koda_fs_call(fs, &request, NULL, &err), err);
	request = reading("echo x");
	request.timeout_ms = UINT64_MAX;
	KODA_ASSERT_FAILS(KODA_E_INVALID, koda_fs_call(fs, &request, NULL, &err), err);
	expect_content(fs, "echo x", "x");
	koda_fs_close(fs);
	koda_sandbox_close(sandbox);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		KODA_SCRATCH_TEST(it_has_what_it_needs_and_nothing_else),
		KODA_SCRATCH_TEST(a_crash_is_told_and_not_retried),
		KODA_SCRATCH_TEST(many_requests_are_on_their_way),
		KODA_SCRATCH_TEST(requests_end_also_without_a_reply),
		KODA_SCRATCH_TEST(denials_are_violations),
		KODA_SCRATCH_TEST(taken_over_it_can_do_what_a_command_can),
		KODA_SCRATCH_TEST(wrong_requests_are_not_sent),
	};

	(void)alarm(KODA_TOO_LONG_SECS);
	return KODA_TEST_RUN(tests);
}
