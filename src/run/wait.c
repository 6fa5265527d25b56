/* SPDX-License-Identifier: MIT */
/*
 * A command while it runs: bytes are carried and reports are taken until it has ended or its wall
 * time has passed; then whatever it left behind is ended, and the host is told.
 */
#include "run/sandbox.h"

#include "base/diag.h"
#include "base/fd.h"
#include "run/event.h"
#include "run/remedy.h"
#include "run/sized.h"
#include "wire/report.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* How long output that is still in the pipes is waited for after the wall time has passed. */
#define DRAIN_NS 200000000ULL
#define POLLED   (4 + KODA_MEMBER_POLLED)

/* How long the proxy may take to tell the last of a command. */
#define REMOVAL_NS 500000000ULL

/* What a shell's exit status adds to the signal that ended its command. */
#define SHELL_SIGNAL 128

/* Also what the program exits with: nothing ran. */
#define EXIT_SETUP 125

/* What the first release had. */
#define OUTCOME_LEAST (offsetof(struct koda_outcome, setup) + sizeof(struct koda_error))

void koda_command_tell(const struct koda_command *command, struct koda_event event)
{
	event.time = koda_event_now();
	if (command->on_event)
		command->on_event(command->event_ctx, &event);
}

/* Each limit is told of once. */
static void reach(struct koda_command *command, enum koda_ceiling which)
{
	struct koda_event event = { .type = KODA_EVENT_LIMIT };

	if (command->limits & 1U << which)
		return;
	command->limits |= 1U << which;
	event.of.limit = (struct koda_event_limit){ which, command->ceilings[which] };
	koda_command_tell(command, event);
}

static void reach_reported(struct koda_command *command, const struct koda_report *report)
{
	static const enum koda_ceiling which[] = {
		[KODA_REPORT_LIMIT_PROCESSES] = KODA_CEILING_PROCESSES,
		[KODA_REPORT_LIMIT_MEMORY] = KODA_CEILING_MEMORY,
		[KODA_REPORT_LIMIT_WALL_TIME] = KODA_CEILING_WALL_TIME,
	};

	if (report->status >= KODA_REPORT_LIMIT_PROCESSES &&
	    report->status < (int)KODA_ARRAY_LEN(which))
		reach(command, which[report->status]);
}

void koda_command_note(void *ctx, const struct koda_noted *noted)
{
	struct koda_command *command = ctx;
	struct koda_event event = { .type = KODA_EVENT_VIOLATION };

	/* Where there is no sandbox, it was not the sandbox. */
	if (command->launcher.backend == &koda_backend_none ||
	    !koda_violations_add(&command->violations, noted))
		return;
	event.of.violation =
		(struct koda_event_violation){ .kind = noted->kind,
					       .target = noted->target,
					       .rule = noted->rule[0] ? noted->rule : NULL,
					       .source = noted->source,
					       .command = command->text };
	koda_command_tell(command, event);
}

/* One round: waits for something to do, does it. 1 if the status socket has something, 0 if not,
 * or a negative errno: waiting is not possible. */
static int carry(struct koda_command *command, uint64_t deadline_ns, bool watch_status)
{
	struct koda_relay *relays[] = { &command->input, &command->output[0], &command->output[1] };
	struct koda_relay *owners[POLLED] = { NULL };
	struct pollfd polled[POLLED];
	nfds_t first_of_member;
	nfds_t count = 0;
	int n;

	if (watch_status)
		polled[count++] =
			(struct pollfd){ .fd = command->launcher.ends.status[0], .events = POLLIN };
	for (size_t i = 0; i < 3; i++) {
		if (koda_relay_wants(relays[i], &polled[count].fd, &polled[count].events)) {
			polled[count].revents = 0;
			owners[count++] = relays[i];
		}
	}
	first_of_member = count;
	if (command->member)
		count += koda_member_wants(command->member, &polled[count]);
	n = poll(polled, count, koda_clock_left_ms(deadline_ns));
	if (n <= 0)
		return n < 0 && errno != EINTR ? -errno : 0;
	for (nfds_t i = 0; i < first_of_member; i++)
		if (owners[i] && polled[i].revents)
			koda_relay_step(owners[i]);
	for (nfds_t i = first_of_member; i < count; i++)
		if (polled[i].revents) {
			koda_member_step(command->member);
			break;
		}
	return watch_status && polled[0].revents != 0;
}

static bool has_output(const struct koda_command *command)
{
	int fd;
	short events;

	return koda_relay_wants(&command->output[0], &fd, &events) ||
	       koda_relay_wants(&command->output[1], &fd, &events);
}

/* The command's terminal is there: keys go in, what it shows comes out. */
static int adopt_terminal(struct koda_command *command, int control, struct koda_error *err)
{
	koda_auto_fd int keys = fcntl(control, F_DUPFD_CLOEXEC, 3);
	koda_auto_fd int shown = fcntl(control, F_DUPFD_CLOEXEC, 3);
	koda_auto_fd int own = -1;
	int r = KODA_OK;

	koda_terminal_open(&command->terminal, command->stdio[0], control);
	if (command->stdio[0] >= 0)
		own = fcntl(command->stdio[0], F_DUPFD_CLOEXEC, 3);
	if (keys < 0 || shown < 0 || (command->stdio[0] >= 0 && own < 0))
		return koda_fail(err, KODA_E_SYS, errno, "the terminal");
	/* The open file behind all three is one: what is set non-blocking for one is for all. */
	r = koda_relay_open(&command->output[0], koda_take_fd(&shown), command->stdio[1], false,
			    UINT64_MAX, err);
	if (r == KODA_OK && own >= 0) {
		r = koda_relay_open(&command->input, koda_take_fd(&own), koda_take_fd(&keys), true,
				    UINT64_MAX, err);
		command->input.end_mark = 4; /* as VEOF usually is */
	}
	return r;
}

static void take_end(struct koda_command *command, const struct koda_report *report,
		     struct koda_outcome *outcome)
{
	int signal = WIFSIGNALED(report->status) ? WTERMSIG(report->status)
						 : WEXITSTATUS(report->status) - SHELL_SIGNAL;

	if (WIFSIGNALED(report->status)) {
		outcome->end = KODA_END_SIGNAL;
		outcome->signal = signal;
	} else {
		outcome->end = KODA_END_EXITED;
		outcome->code = WEXITSTATUS(report->status);
	}
	if (signal == SIGXCPU)
		reach(command, KODA_CEILING_CPU_TIME);
	else if (signal == SIGXFSZ)
		reach(command, KODA_CEILING_FILE_SIZE);
}

/* One report. True if it is the last that matters: what follows a failure is only its echo. */
static bool take_report(struct koda_command *command, struct koda_outcome *outcome)
{
	struct koda_report report = { .kind = 0 };
	koda_auto_fd int given = -1;
	size_t count = 0;
	size_t len = 0;

	if (koda_fd_receive(command->launcher.ends.status[0], &report, sizeof(report), &len, &given,
			    1, &count, NULL) < 0 ||
	    len != sizeof(report)) {
		(void)koda_fail(&outcome->setup, KODA_E_CHILD, 0, "the launcher died");
		return true;
	}
	report.step[sizeof(report.step) - 1] = '\0';
	report.path[sizeof(report.path) - 1] = '\0';
	switch (report.kind) {
	case KODA_REPORT_TERMINAL:
		return count == 1 &&
		       adopt_terminal(command, koda_take_fd(&given), &outcome->setup) < 0;
	case KODA_REPORT_LISTENER:
		return count == 1 && command->way_out &&
		       koda_command_adopt(command, koda_take_fd(&given), report.path,
					  &outcome->setup) < 0;
	case KODA_REPORT_READY:
		command->open_view = report.status == KODA_REPORT_READY_OPEN;
		return false;
	case KODA_REPORT_LIMIT:
		reach_reported(command, &report);
		if (report.status != KODA_REPORT_LIMIT_WALL_TIME)
			return false;
		outcome->end = KODA_END_TIMEOUT;
		return true;
	case KODA_REPORT_EXITED:
		take_end(command, &report, outcome);
		return true;
	case KODA_REPORT_EXEC_FAILED:
		outcome->end = KODA_END_EXEC;
		outcome->sys_errno = report.sys_errno;
		return true;
	default:
		(void)koda_fail_at(&outcome->setup, KODA_E_SYS, report.sys_errno, report.path, "%s",
				   report.step);
		koda_remedy_add(&outcome->setup);
		return true;
	}
}

/* What the guardian found out after it had told of the end: limits, and nothing else counts. */
static void take_late(struct koda_command *command)
{
	struct koda_report report;

	while (recv(command->launcher.ends.status[0], &report, sizeof(report), MSG_DONTWAIT) ==
	       (ssize_t)sizeof(report))
		if (report.kind == KODA_REPORT_LIMIT)
			reach_reported(command, &report);
}

/* What was written but not carried yet. Once the guardian is gone none of ours writes any more; who
 * was handed a descriptor and does is not waited for, nor after a timeout a reader that does not
 * read. */
static void drain(struct koda_command *command, uint64_t deadline_ns)
{
	uint64_t settled = koda_clock_now() + DRAIN_NS;

	koda_relay_clear(&command->input);
	/* A terminal hands on what was written a moment later. */
	while (command->terminal.control >= 0 && has_output(command) && koda_clock_now() < settled)
		if (carry(command, settled, false) < 0)
			return;
	koda_relay_last(&command->output[0]);
	koda_relay_last(&command->output[1]);
	while (has_output(command) && koda_clock_now() < deadline_ns)
		if (carry(command, deadline_ns, false) < 0)
			return;
	for (size_t i = 0; i < 2 && koda_clock_now() < deadline_ns; i++)
		koda_relay_finish(&command->output[i], deadline_ns);
}

static void tell_exit(const struct koda_command *command, const struct koda_outcome *outcome)
{
	struct koda_event event = { .type = KODA_EVENT_EXIT };
	struct koda_event_exit *end = &event.of.exit;

	end->code = -1;
	end->wall_ms = (double)(koda_clock_now() - command->started_ns) / 1e6;
	switch (outcome->end) {
	case KODA_END_EXITED:
		end->code = outcome->code;
		end->reason = KODA_REASON_EXITED;
		break;
	case KODA_END_SIGNAL:
		end->signal = outcome->signal;
		end->reason = KODA_REASON_SIGNAL;
		break;
	case KODA_END_TIMEOUT:
		end->reason = KODA_REASON_WALL_TIME;
		break;
	case KODA_END_EXEC:
		/* As a shell would say it. */
		end->code = outcome->sys_errno == ENOENT ? 127 : 126;
		end->reason = KODA_REASON_EXITED;
		break;
	case KODA_END_SETUP:
		end->code = EXIT_SETUP;
		end->reason = KODA_REASON_SETUP;
		break;
	}
	koda_command_tell(command, event);
}

/* Carries and listens until the command has ended or that time has come; true if it has ended. */
static bool serve_until(struct koda_command *command, uint64_t deadline_ns,
			struct koda_outcome *outcome)
{
	for (;;) {
		/* Whoever comes late, or was stopped, hears first what there is to hear. */
		bool late = koda_clock_now() >= deadline_ns;
		int got = carry(command, deadline_ns, true);

		if (got < 0)
			(void)koda_fail(&outcome->setup, KODA_E_CHILD, -got,
					"cannot wait for the command");
		if (got < 0 || (got > 0 && take_report(command, outcome)))
			return true;
		if (late && got == 0)
			return false;
	}
}

/* Whatever still runs ends now, and what it wrote is carried. */
static void finish(struct koda_command *command, struct koda_outcome *outcome)
{
	struct koda_exit ignored;

	/* The number stays ours: somebody may be about to send a signal, which must not reach
	 * another file. */
	(void)shutdown(command->launcher.ends.life[0], SHUT_RDWR);
	if (koda_proc_wait(&command->launcher.proc, koda_clock_now() + KODA_GUARDIAN_NS, &ignored,
			   NULL) < 0)
		koda_proc_kill(&command->launcher.proc);
	take_late(command);
	drain(command,
	      outcome->end == KODA_END_TIMEOUT ? koda_clock_now() + DRAIN_NS : KODA_DEADLINE_NEVER);
	koda_reader_end(&command->reader);
	koda_terminal_close(&command->terminal);
	koda_member_remove(KODA_TAKE(command->member), koda_clock_now() + REMOVAL_NS);
	for (size_t i = 0; i < 2; i++) {
		outcome->output_bytes += command->output[i].total;
		outcome->output_dropped += koda_relay_dropped(&command->output[i]);
		if (!outcome->output_errno)
			outcome->output_errno = command->output[i].failed;
	}
	if (outcome->output_dropped > 0)
		reach(command, KODA_CEILING_OUTPUT);
	outcome->limits = command->limits;
	if (outcome->end == KODA_END_SETUP)
		atomic_store(&command->sandbox->in_doubt, true);
	tell_exit(command, outcome);
}

static int wait_until(struct koda_command *command, uint64_t deadline_ns,
		      struct koda_outcome *ret_outcome, struct koda_error *err)
{
	struct koda_outcome outcome = { .end = KODA_END_SETUP };
	bool last = deadline_ns >= command->deadline_ns;

	if (koda_sized_check(ret_outcome, OUTCOME_LEAST, "koda_outcome", err) < 0)
		return KODA_E_INVALID;
	if (command->launcher.proc.pid <= 0)
		return koda_fail(err, KODA_E_INVALID, 0, "the command was waited for already");
	if (!serve_until(command, last ? command->deadline_ns : deadline_ns, &outcome)) {
		if (!last)
			return koda_fail(err, KODA_E_TIMEOUT, 0, "the command still runs");
		outcome.end = KODA_END_TIMEOUT;
		reach(command, KODA_CEILING_WALL_TIME);
	}
	finish(command, &outcome);
	koda_sized_give(ret_outcome, &outcome, sizeof(outcome));
	return KODA_OK;
}

int koda_command_wait(struct koda_command *command, struct koda_outcome *ret_outcome,
		      struct koda_error *err)
{
	return wait_until(command, KODA_DEADLINE_NEVER, ret_outcome, err);
}

int koda_command_wait_for(struct koda_command *command, uint64_t milliseconds,
			  struct koda_outcome *ret_outcome, struct koda_error *err)
{
	uint64_t most = (KODA_DEADLINE_NEVER - koda_clock_now()) / 1000000;

	return wait_until(command,
			  milliseconds < most ? koda_clock_now() + milliseconds * 1000000
					      : KODA_DEADLINE_NEVER,
			  ret_outcome, err);
}
