/* SPDX-License-Identifier: MIT */
/*
 * One command: the launcher is spawned with a sealed plan, three pipes, a status pipe and a
 * lifeline; then bytes are carried until it reports the end or the wall time has passed.
 */
#include "run/sandbox.h"

#include "base/diag.h"
#include "base/fd.h"
#include "wire/report.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* How long output that is still in the pipes is waited for after the wall time has passed, and how
 * long the guardian may take to end everything. */
#define DRAIN_NS    200000000ULL
#define GUARDIAN_NS 5000000000ULL
#define POLLED      5

/* Both ends of what the launcher gets. */
struct ends {
	int status[2]; /* ours, theirs */
	int life[2];
	int stream[3][2];
};

static void close_ends(struct ends *ends)
{
	for (size_t side = 0; side < 2; side++) {
		koda_fd_close(&ends->status[side]);
		koda_fd_close(&ends->life[side]);
		for (size_t i = 0; i < 3; i++)
			koda_fd_close(&ends->stream[i][side]);
	}
}

static int make_ends(struct ends *ends, struct koda_error *err)
{
	int r = koda_fd_socketpair(&ends->status[0], &ends->status[1], err);

	if (r == KODA_OK)
		r = koda_fd_socketpair(&ends->life[0], &ends->life[1], err);
	if (r == KODA_OK)
		r = koda_fd_pipe(&ends->stream[0][1], &ends->stream[0][0], err);
	for (size_t i = 1; i < 3 && r == KODA_OK; i++)
		r = koda_fd_pipe(&ends->stream[i][0], &ends->stream[i][1], err);
	return r;
}

static int spawn(struct koda_sandbox *sandbox, const struct koda_command_options *options,
		 const struct ends *ends, struct koda_proc *ret_proc, struct koda_error *err)
{
	koda_auto_plan struct koda_plan plan = KODA_PLAN_INIT;
	const struct koda_fdmap give[] = {
		{ ends->stream[0][1], 0 },
		{ ends->stream[1][1], 1 },
		{ ends->stream[2][1], 2 },
		{ ends->status[1], KODA_STAGE2_STATUS_FD },
		{ ends->life[1], KODA_STAGE2_LIFE_FD },
	};
	const struct koda_launch launch = { give, KODA_ARRAY_LEN(give) };
	int r = koda_sandbox_make_plan(sandbox, options, &plan, err);

	return r < 0 ? r : sandbox->backend->launch(&plan, &launch, ret_proc, err);
}

/* Our ends become the command's; input from nowhere is an end of file at once. */
static int attach(struct koda_command *command, const struct koda_sandbox *sandbox,
		  const struct koda_command_options *options, struct ends *ends,
		  struct koda_error *err)
{
	uint64_t ceiling = UINT64_MAX;
	int r = KODA_OK;

	(void)koda_policy_limit(sandbox->policy, KODA_LIMIT_MAX_OUTPUT_BYTES, &ceiling);
	command->status_fd = koda_take_fd(&ends->status[0]);
	command->life_fd = koda_take_fd(&ends->life[0]);
	if (options->stdio[0] >= 0) {
		int own = fcntl(options->stdio[0], F_DUPFD_CLOEXEC, 3);

		if (own < 0)
			return koda_fail(err, KODA_E_SYS, errno, "standard input");
		r = koda_relay_open(&command->input, own, koda_take_fd(&ends->stream[0][0]), true,
				    UINT64_MAX, err);
	}
	for (size_t i = 0; i < 2 && r == KODA_OK; i++)
		r = koda_relay_open(&command->output[i], koda_take_fd(&ends->stream[i + 1][0]),
				    options->stdio[i + 1], false, ceiling, err);
	return r;
}

static uint64_t deadline_for(const struct koda_policy *policy)
{
	uint64_t seconds;

	if (!koda_policy_limit(policy, KODA_LIMIT_WALL_TIME_SECS, &seconds) || seconds > UINT32_MAX)
		return KODA_DEADLINE_NEVER;
	return koda_clock_now() + seconds * 1000000000U;
}

int koda_sandbox_start(struct koda_sandbox *sandbox, const struct koda_command_options *options,
		       struct koda_command **ret_command, struct koda_error *err)
{
	struct ends ends = { { -1, -1 }, { -1, -1 }, { { -1, -1 }, { -1, -1 }, { -1, -1 } } };
	struct koda_command *command = calloc(1, sizeof(*command));
	int r;

	if (!command)
		return koda_fail_nomem(err);
	command->guardian = (struct koda_proc)KODA_PROC_INIT;
	command->status_fd = -1;
	command->life_fd = -1;
	command->input = (struct koda_relay)KODA_RELAY_INIT;
	command->output[0] = command->output[1] = (struct koda_relay)KODA_RELAY_INIT;
	r = make_ends(&ends, err);
	if (r == KODA_OK)
		r = spawn(sandbox, options, &ends, &command->guardian, err);
	if (r == KODA_OK)
		r = attach(command, sandbox, options, &ends, err);
	close_ends(&ends);
	if (r < 0) {
		koda_command_free(command);
		return r;
	}
	command->deadline_ns = deadline_for(sandbox->policy);
	*ret_command = command;
	return KODA_OK;
}

int koda_command_signal(struct koda_command *command, int signal, struct koda_error *err)
{
	unsigned char number = (unsigned char)signal;

	if (send(command->life_fd, &number, 1, MSG_NOSIGNAL) != 1)
		return koda_fail(err, KODA_E_SYS, errno, "cannot pass signal %d on", signal);
	return KODA_OK;
}

void koda_command_free(struct koda_command *command)
{
	struct koda_exit ignored;

	if (!command)
		return;
	/* The guardian ends the rest and tidies up; only if it does not is it killed itself. */
	koda_fd_close(&command->life_fd);
	if (command->guardian.pid > 0)
		(void)!koda_proc_wait(&command->guardian, koda_clock_now() + GUARDIAN_NS, &ignored,
				      NULL);
	koda_proc_kill(&command->guardian);
	koda_fd_close(&command->status_fd);
	koda_relay_clear(&command->input);
	koda_relay_clear(&command->output[0]);
	koda_relay_clear(&command->output[1]);
	free(command);
}

static int timeout_ms(uint64_t deadline_ns)
{
	uint64_t now = koda_clock_now();
	uint64_t ms;

	if (deadline_ns == KODA_DEADLINE_NEVER)
		return -1;
	if (now >= deadline_ns)
		return 0;
	ms = (deadline_ns - now + 999999) / 1000000;
	return ms > 60000 ? 60000 : (int)ms;
}

/* One round: waits for something to do, does it. True if the status pipe has something. */
static bool carry(struct koda_command *command, uint64_t deadline_ns, bool watch_status)
{
	struct koda_relay *relays[] = { &command->input, &command->output[0], &command->output[1] };
	struct koda_relay *owners[POLLED] = { NULL };
	struct pollfd polled[POLLED];
	nfds_t count = 0;

	if (watch_status)
		polled[count++] = (struct pollfd){ .fd = command->status_fd, .events = POLLIN };
	for (size_t i = 0; i < 3; i++) {
		if (koda_relay_wants(relays[i], &polled[count].fd, &polled[count].events)) {
			polled[count].revents = 0;
			owners[count++] = relays[i];
		}
	}
	if (poll(polled, count, timeout_ms(deadline_ns)) <= 0)
		return false;
	for (nfds_t i = 0; i < count; i++)
		if (owners[i] && polled[i].revents)
			koda_relay_step(owners[i]);
	return watch_status && polled[0].revents != 0;
}

static bool has_output(const struct koda_command *command)
{
	int fd;
	short events;

	return koda_relay_wants(&command->output[0], &fd, &events) ||
	       koda_relay_wants(&command->output[1], &fd, &events);
}

/* The first report counts: what follows a failure is only its echo. */
static void take_report(struct koda_command *command, struct koda_outcome *outcome)
{
	struct koda_report report;
	ssize_t n;

	do {
		n = read(command->status_fd, &report, sizeof(report));
	} while (n < 0 && errno == EINTR);
	if (n != (ssize_t)sizeof(report)) {
		(void)koda_fail(&outcome->setup, KODA_E_CHILD, 0, "the launcher died");
		return;
	}
	report.step[sizeof(report.step) - 1] = '\0';
	report.path[sizeof(report.path) - 1] = '\0';
	if (report.kind == KODA_REPORT_EXITED && WIFSIGNALED(report.status)) {
		outcome->end = KODA_END_SIGNAL;
		outcome->signal = WTERMSIG(report.status);
	} else if (report.kind == KODA_REPORT_EXITED) {
		outcome->end = KODA_END_EXITED;
		outcome->code = WEXITSTATUS(report.status);
	} else if (report.kind == KODA_REPORT_EXEC_FAILED) {
		outcome->end = KODA_END_EXEC;
		outcome->sys_errno = report.sys_errno;
	} else {
		(void)koda_fail_at(&outcome->setup, KODA_E_SYS, report.sys_errno, report.path, "%s",
				   report.step);
	}
}

/* What was written but not carried yet. Once the guardian is gone nobody holds the pipes any more
 * and their end is certain; after a timeout a reader that does not read is not waited for. */
static void drain(struct koda_command *command, uint64_t deadline_ns)
{
	koda_relay_clear(&command->input);
	while (has_output(command) && koda_clock_now() < deadline_ns)
		(void)carry(command, deadline_ns, false);
	for (size_t i = 0; i < 2 && koda_clock_now() < deadline_ns; i++)
		koda_relay_finish(&command->output[i]);
}

int koda_command_wait(struct koda_command *command, struct koda_outcome *ret_outcome,
		      struct koda_error *err)
{
	struct koda_outcome outcome = { .end = KODA_END_SETUP };
	struct koda_exit ignored;
	bool reported = false;

	if (command->guardian.pid <= 0)
		return koda_fail(err, KODA_E_INVALID, 0, "the command was waited for already");
	while (!reported && koda_clock_now() < command->deadline_ns)
		reported = carry(command, command->deadline_ns, true);
	if (reported)
		take_report(command, &outcome);
	else
		outcome.end = KODA_END_TIMEOUT;
	koda_fd_close(&command->life_fd); /* whatever still runs ends now */
	if (koda_proc_wait(&command->guardian, koda_clock_now() + GUARDIAN_NS, &ignored, NULL) < 0)
		koda_proc_kill(&command->guardian);
	drain(command,
	      outcome.end == KODA_END_TIMEOUT ? koda_clock_now() + DRAIN_NS : KODA_DEADLINE_NEVER);
	for (size_t i = 0; i < 2; i++) {
		outcome.output_bytes += command->output[i].total;
		outcome.output_dropped += koda_relay_dropped(&command->output[i]);
	}
	*ret_outcome = outcome;
	return KODA_OK;
}
