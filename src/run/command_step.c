/* SPDX-License-Identifier: MIT */
/*
 * Carries the streams of a command and takes the launcher's reports until it has ended or its wall
 * time has passed. Then the guardian kills what still runs, the rest of the output is carried, the
 * proxy closes the connections that are left, and the exit event is emitted.
 */
#include "run/command_step.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "run/command_net.h"
#include "run/outcome.h"
#include "run/reports.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

/* How long output in the pipes is carried after the wall time has passed. */
#define DRAIN_NS 200000000ULL
/* How long it is carried, at least, after a command that has ended by itself. */
#define LINGER_NS 2000000000ULL
/* How long the proxy may take for its last messages about a command. */
#define REMOVAL_NS 500000000ULL

static void want(struct koda_command_wants *wants, int fd, short events, struct koda_relay *owner)
{
	wants->owners[wants->count] = owner;
	wants->polled[wants->count++] = (struct pollfd){ .fd = fd, .events = events };
}

static void want_relay(struct koda_command_wants *wants, const struct koda_relay *relay)
{
	short events;
	int fd;

	if (koda_relay_wants(relay, &fd, &events))
		want(wants, fd, events, (struct koda_relay *)(uintptr_t)relay);
}

/* Only bytes on their way to their readers are waited for. */
static bool is_draining(const struct koda_command *command)
{
	return command->phase == KODA_PHASE_FLUSHES || command->phase == KODA_PHASE_DRAINS;
}

void koda_command_step_wants(const struct koda_command *command,
			     struct koda_command_wants *ret_wants)
{
	struct koda_command_wants *wants = ret_wants;

	*wants = (struct koda_command_wants){ .count = 0 };
	if (command->phase == KODA_PHASE_RUNS) {
		/* koda_command_step_act reads this entry first. */
		want(wants, command->launcher.channels.status[0], POLLIN, NULL);
		want_relay(wants, &command->input);
	}
	if (command->phase == KODA_PHASE_ENDS)
		want(wants, command->launcher.proc.pidfd, POLLIN, NULL);
	if (command->phase == KODA_PHASE_RUNS || is_draining(command)) {
		want_relay(wants, &command->output[0]);
		want_relay(wants, &command->output[1]);
	}
	wants->of_kill = wants->count;
	if (is_draining(command) && !command->hurried)
		want(wants, command->kill_fd, POLLIN, NULL);
	wants->of_listener = wants->count;
	if (command->listener && command->phase != KODA_PHASE_ENDS &&
	    command->phase != KODA_PHASE_OVER)
		wants->count +=
			koda_listener_wants(command->listener, &wants->polled[wants->count]);
}

uint64_t koda_command_step_deadline(const struct koda_command *command)
{
	if (command->hurried && is_draining(command))
		return 0;
	return command->phase == KODA_PHASE_RUNS ? command->deadline_ns : command->phase_ns;
}

/* Carries what is ready, and passes on what the proxy says. */
static void carry(struct koda_command *command, const struct koda_command_wants *wants)
{
	for (size_t i = 0; i < wants->of_listener; i++)
		if (wants->owners[i] && wants->polled[i].revents)
			koda_relay_step(wants->owners[i]);
	for (size_t i = wants->of_listener; i < wants->count; i++)
		if (wants->polled[i].revents) {
			koda_listener_step(command->listener);
			break;
		}
}

static bool has_output(const struct koda_command *command)
{
	int fd;
	short events;

	return koda_relay_wants(&command->output[0], &fd, &events) ||
	       koda_relay_wants(&command->output[1], &fd, &events);
}

/* Takes the master of the command's pseudoterminal, and opens the relays through it. */
static int adopt_terminal(struct koda_command *command, int control, struct koda_error *err)
{
	struct koda_streams *streams = &command->streams;
	koda_auto_fd int keys = fcntl(control, F_DUPFD_CLOEXEC, 3);
	koda_auto_fd int screen = fcntl(control, F_DUPFD_CLOEXEC, 3);
	koda_auto_fd int tty = -1;
	int r = KODA_OK;

	if (streams->fd[0] >= 0)
		tty = fcntl(streams->fd[0], F_DUPFD_CLOEXEC, 3);
	koda_terminal_open(&command->terminal, koda_take_fd(&tty), control);
	if (keys < 0 || screen < 0)
		return koda_fail(err, KODA_E_SYS, errno, "the terminal");
	/* All three share one open file, and with it O_NONBLOCK. */
	r = koda_streams_open_output(streams, 1, &command->output[0], koda_take_fd(&screen),
				     UINT64_MAX, err);
	if (r == KODA_OK && streams->of[0].kind != KODA_STREAM_NULL) {
		r = koda_streams_open_input(streams, &command->input, koda_take_fd(&keys), err);
		command->input.end_mark = 4; /* the usual VEOF, Ctrl-D */
	}
	return r;
}

/* Takes a report of the launcher. True if it is the last that matters. */
static bool take_report(struct koda_command *command)
{
	struct koda_error *err = &command->failure;
	struct koda_report report = { .kind = 0 };
	koda_auto_fd int given = -1;
	size_t count = 0;
	size_t len = 0;

	if (koda_fd_receive(command->launcher.channels.status[0], &report, sizeof(report), &len,
			    &given, 1, &count, NULL) < 0 ||
	    len != sizeof(report)) {
		(void)koda_fail(err, KODA_E_CHILD, 0, "the launcher died");
		return true;
	}
	report.path[sizeof(report.path) - 1] = '\0';
	if (report.kind == KODA_REPORT_TERMINAL)
		return count == 1 && adopt_terminal(command, koda_take_fd(&given), err) < 0;
	if (report.kind == KODA_REPORT_LISTENER)
		return count == 1 && command->has_network &&
		       koda_command_net_attach_listener(command, koda_take_fd(&given), report.path,
							err) < 0;
	return koda_outcome_take(command, &report);
}

/* Has the guardian kill what still runs, by closing its lifeline. */
static void begin_end(struct koda_command *command)
{
	/* shutdown() and not close(): another thread may be about to write a signal number to this
	 * descriptor, which must not become one of another file. */
	(void)shutdown(command->launcher.channels.life[0], SHUT_RDWR);
	command->phase_ns = koda_clock_now() + KODA_GUARDIAN_NS;
	command->phase = KODA_PHASE_ENDS;
}

/* All processes have ended. Bytes written to a pseudoterminal reach its master a moment later. */
static void begin_flush(struct koda_command *command)
{
	koda_relay_clear(&command->input);
	command->phase_ns = koda_clock_now() + DRAIN_NS;
	command->phase = KODA_PHASE_FLUSHES;
}

/* Begins to carry the rest of the output. Only bytes that are in the pipes now count: a process
 * outside that was passed the pipe is not waited for. A reader that does not read is waited for
 * until the wall time has passed, and a little longer; but not so long if the host has killed the
 * command, which wants no more of it. */
static void begin_drain(struct koda_command *command)
{
	bool is_late = command->outcome.end == KODA_END_WALL_TIME;

	koda_relay_last(&command->output[0]);
	koda_relay_last(&command->output[1]);
	command->phase_ns = koda_clock_now() + (is_late ? DRAIN_NS : LINGER_NS);
	if (!is_late && !atomic_load(&command->killed) && command->deadline_ns > command->phase_ns)
		command->phase_ns = command->deadline_ns;
	command->phase = KODA_PHASE_DRAINS;
}

/* Gives up output that its reader has not taken in time, or when koda_command_kill was called. */
static void give_up_output(struct koda_command *command)
{
	int fd;
	short events;

	for (size_t i = 0; i < 2; i++)
		if (koda_relay_wants(&command->output[i], &fd, &events) &&
		    !command->output[i].failed)
			command->output[i].failed = ETIMEDOUT;
}

static void begin_leave(struct koda_command *command)
{
	koda_stderr_scan_end(&command->stderr_scan);
	koda_terminal_close(&command->terminal);
	if (command->listener)
		koda_listener_close(command->listener);
	command->phase_ns = koda_clock_now() + REMOVAL_NS;
	command->phase = KODA_PHASE_LEAVES;
}

static void finish(struct koda_command *command)
{
	struct koda_outcome *outcome = &command->outcome;

	if (command->listener)
		koda_listener_free(KODA_TAKE(command->listener));
	outcome->output_errno = command->streams.capture_errno;
	for (size_t i = 0; i < 2; i++) {
		outcome->output_bytes += command->output[i].total;
		outcome->output_dropped += koda_relay_dropped(&command->output[i]);
		if (!outcome->output_errno)
			outcome->output_errno = command->output[i].failed;
		outcome->ends_mid_line[i] =
			command->output[i].total > 0 && command->output[i].last != '\n';
	}
	if (outcome->output_dropped > 0)
		koda_outcome_reach(command, KODA_LIMIT_OUTPUT);
	outcome->limits = command->reached;
	if (outcome->end == KODA_END_SETUP)
		atomic_store(&command->sandbox->backend_suspect, true);
	koda_command_emit_left_behind(command);
	outcome->left_behind_unknown = command->left.incomplete;
	command->phase = KODA_PHASE_OVER;
	koda_outcome_emit_exit(command);
}

/* Goes on to the next phase as long as the present one has nothing to wait for. */
static void settle(struct koda_command *command)
{
	if (command->phase == KODA_PHASE_FLUSHES &&
	    !(command->terminal.control >= 0 && has_output(command)))
		begin_drain(command);
	/* The tails of shortened output are carried last. */
	if (command->phase == KODA_PHASE_DRAINS && !has_output(command)) {
		bool more = koda_relay_finish(&command->output[0]);

		if (!koda_relay_finish(&command->output[1]) && !more)
			begin_leave(command);
	}
	if (command->phase == KODA_PHASE_LEAVES &&
	    (!command->listener || koda_listener_is_gone(command->listener)))
		finish(command);
}

static void act_running(struct koda_command *command, bool has_report, bool late)
{
	if (has_report) {
		if (take_report(command))
			begin_end(command);
	} else if (late) {
		command->outcome.end = KODA_END_WALL_TIME;
		koda_outcome_reach(command, KODA_LIMIT_WALL_TIME);
		begin_end(command);
	}
}

/* Tells whether the next report is one from before the command runs. */
static bool is_of_start(const struct koda_command *command)
{
	uint32_t kind = 0;

	return recv(command->launcher.channels.status[0], &kind, sizeof(kind),
		    MSG_PEEK | MSG_DONTWAIT) == (ssize_t)sizeof(kind) &&
	       (kind == KODA_REPORT_TERMINAL || kind == KODA_REPORT_LISTENER ||
		kind == KODA_REPORT_READY);
}

/* Reaps the guardian if it has ended, or kills it if it is late. */
static void act_ending(struct koda_command *command, bool late)
{
	struct koda_exit ignored;
	int r = koda_proc_wait(&command->launcher.proc, 0, &ignored, NULL);

	if (r == KODA_E_TIMEOUT && !late)
		return;
	if (r < 0)
		koda_proc_kill(&command->launcher.proc);
	koda_outcome_take_late(command);
	begin_flush(command);
}

/* The deadline of a phase after KODA_PHASE_ENDS has passed, or poll() fails. */
static void act_late(struct koda_command *command)
{
	switch (command->phase) {
	case KODA_PHASE_FLUSHES:
		begin_drain(command);
		break;
	case KODA_PHASE_DRAINS:
		give_up_output(command);
		begin_leave(command);
		break;
	case KODA_PHASE_LEAVES:
		finish(command);
		break;
	case KODA_PHASE_RUNS:
	case KODA_PHASE_ENDS:
	case KODA_PHASE_OVER:
		break;
	}
}

void koda_command_step_act(struct koda_command *command, const struct koda_command_wants *wants,
			   int n, bool late)
{
	const enum koda_phase phase = command->phase;
	bool has_report = false;

	if (phase == KODA_PHASE_RUNS && n >= 0)
		has_report = koda_reports_drain(command);
	/* Reports of denials come behind it, and have to be taken before the command's messages
	 * about them are carried. */
	if (has_report && is_of_start(command)) {
		act_running(command, true, late);
		settle(command);
		return;
	}
	if (n > 0)
		carry(command, wants);
	if (n > 0 && wants->of_kill < wants->of_listener && wants->polled[wants->of_kill].revents) {
		command->hurried = true;
		return; /* the next step, which does not wait, finds whether readers take more */
	}
	switch (phase) {
	case KODA_PHASE_RUNS:
		if (n < 0) {
			(void)koda_fail(&command->failure, KODA_E_CHILD, -n,
					"cannot wait for the command");
			begin_end(command);
		} else {
			act_running(command, has_report, late);
		}
		break;
	case KODA_PHASE_ENDS:
		act_ending(command, late || n < 0);
		break;
	case KODA_PHASE_FLUSHES:
	case KODA_PHASE_DRAINS:
	case KODA_PHASE_LEAVES:
		settle(command);
		if (((late && !(command->hurried && n > 0)) || n < 0) && command->phase == phase)
			act_late(command);
		break;
	case KODA_PHASE_OVER:
		return;
	}
	settle(command);
}
