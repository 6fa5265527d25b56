/* SPDX-License-Identifier: MIT */
/*
 * Waits for a command: carries its streams and takes the launcher's reports until it has ended or
 * its wall time has passed. Then the guardian kills what still runs, the rest of the output is
 * carried, and the exit event is emitted.
 */
#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "run/command_net.h"
#include "run/outcome.h"
#include "run/sized.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

/* How long output in the pipes is carried after the wall time has passed. */
#define DRAIN_NS 200000000ULL
/* How long it is carried, at least, after a command that has ended by itself. */
#define LINGER_NS 2000000000ULL
#define POLLED    (4 + KODA_LISTENER_POLLED)

/* How long the proxy may take for its last messages about a command. */
#define REMOVAL_NS 500000000ULL

/* The size of the struct in the first release. */
#define OUTCOME_LEAST (offsetof(struct koda_outcome, setup) + sizeof(struct koda_error))

/* Waits in poll() once, and carries what is ready. Returns 1 if the status socket is readable, 0 if
 * not, or a negative errno of poll(). */
static int carry(struct koda_command *command, uint64_t deadline_ns, bool watch_status)
{
	struct koda_relay *relays[] = { &command->input, &command->output[0], &command->output[1] };
	struct koda_relay *owners[POLLED] = { NULL };
	struct pollfd polled[POLLED];
	nfds_t first_of_listener;
	nfds_t count = 0;
	int n;

	if (watch_status)
		polled[count++] = (struct pollfd){ .fd = command->launcher.channels.status[0],
						   .events = POLLIN };
	for (size_t i = 0; i < 3; i++) {
		if (koda_relay_wants(relays[i], &polled[count].fd, &polled[count].events)) {
			polled[count].revents = 0;
			owners[count++] = relays[i];
		}
	}
	first_of_listener = count;
	if (command->listener)
		count += koda_listener_wants(command->listener, &polled[count]);
	n = poll(polled, count, koda_clock_left_ms(deadline_ns));
	if (n <= 0)
		return n < 0 && errno != EINTR ? -errno : 0;
	for (nfds_t i = 0; i < first_of_listener; i++)
		if (owners[i] && polled[i].revents)
			koda_relay_step(owners[i]);
	for (nfds_t i = first_of_listener; i < count; i++)
		if (polled[i].revents) {
			koda_listener_step(command->listener);
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

/* Takes the master of the command's pseudoterminal, and opens the relays through it. */
static int adopt_terminal(struct koda_command *command, int control, struct koda_error *err)
{
	koda_auto_fd int keys = fcntl(control, F_DUPFD_CLOEXEC, 3);
	koda_auto_fd int screen = fcntl(control, F_DUPFD_CLOEXEC, 3);
	koda_auto_fd int input = -1;
	int r = KODA_OK;

	koda_terminal_open(&command->terminal, command->stdio[0], control);
	if (command->stdio[0] >= 0)
		input = fcntl(command->stdio[0], F_DUPFD_CLOEXEC, 3);
	if (keys < 0 || screen < 0 || (command->stdio[0] >= 0 && input < 0))
		return koda_fail(err, KODA_E_SYS, errno, "the terminal");
	/* All three share one open file, and with it O_NONBLOCK. */
	r = koda_relay_open(&command->output[0], koda_take_fd(&screen), command->stdio[1], false,
			    UINT64_MAX, err);
	if (r == KODA_OK && input >= 0) {
		r = koda_relay_open(&command->input, koda_take_fd(&input), koda_take_fd(&keys),
				    true, UINT64_MAX, err);
		command->input.end_mark = 4; /* the usual VEOF, Ctrl-D */
	}
	return r;
}

/* Takes a report of the launcher. True if it is the last that matters. */
static bool take_report(struct koda_command *command)
{
	struct koda_error *err = &command->outcome.setup;
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

/* Begins to carry the rest of the output. All processes of the command have ended, so only bytes
 * that are in the pipes now count: a process outside that was passed the pipe is not waited for. A
 * reader that does not read is waited for until the wall time has passed, and a little longer. */
static void begin_drain(struct koda_command *command)
{
	uint64_t now = koda_clock_now();
	uint64_t flushed = now + DRAIN_NS;

	koda_relay_clear(&command->input);
	/* Bytes written to a pseudoterminal reach its master a moment later. */
	while (command->terminal.control >= 0 && has_output(command) && koda_clock_now() < flushed)
		if (carry(command, flushed, false) < 0)
			break;
	koda_relay_last(&command->output[0]);
	koda_relay_last(&command->output[1]);
	command->drain_ns = now + (command->outcome.end == KODA_END_TIMEOUT ? DRAIN_NS : LINGER_NS);
	if (command->outcome.end != KODA_END_TIMEOUT && command->deadline_ns > command->drain_ns)
		command->drain_ns = command->deadline_ns;
	command->phase = KODA_PHASE_DRAINS;
}

/* Gives up output that its reader has not taken in time. */
static void give_up_output(struct koda_command *command)
{
	int fd;
	short events;

	for (size_t i = 0; i < 2; i++)
		if (koda_relay_wants(&command->output[i], &fd, &events) &&
		    !command->output[i].failed)
			command->output[i].failed = ETIMEDOUT;
}

/* Carries the rest of the output until deadline_ns, the kept tails last. True if all is done. After
 * the deadline it carries once what does not block. */
static bool drain_until(struct koda_command *command, uint64_t deadline_ns)
{
	uint64_t until = deadline_ns < command->drain_ns ? deadline_ns : command->drain_ns;
	bool late = false;

	while (!late) {
		late = koda_clock_now() >= until;
		if (has_output(command) && carry(command, until, false) < 0)
			return true;
		if (has_output(command))
			continue;
		if (!koda_relay_finish(&command->output[0]) &&
		    !koda_relay_finish(&command->output[1]))
			return true;
		late = false;
	}
	if (koda_clock_now() < command->drain_ns)
		return false;
	give_up_output(command);
	return true;
}

/* Carries streams and takes reports until the command has ended (true) or deadline_ns (false). */
static bool serve_until(struct koda_command *command, uint64_t deadline_ns)
{
	for (;;) {
		/* After the deadline, reports that have come already are still taken. */
		bool late = koda_clock_now() >= deadline_ns;
		int got = carry(command, deadline_ns, true);

		if (got < 0)
			(void)koda_fail(&command->outcome.setup, KODA_E_CHILD, -got,
					"cannot wait for the command");
		if (got < 0 || (got > 0 && take_report(command)))
			return true;
		if (late && got == 0)
			return false;
	}
}

/* Has the guardian kill what still runs, by closing its lifeline. */
static void begin_end(struct koda_command *command)
{
	/* shutdown() and not close(): another thread may be about to write a signal number to this
	 * descriptor, which must not become one of another file. */
	(void)shutdown(command->launcher.channels.life[0], SHUT_RDWR);
	command->guardian_ns = koda_clock_now() + KODA_GUARDIAN_NS;
	command->phase = KODA_PHASE_ENDS;
}

/* Waits until the guardian has ended, or kills it at guardian_ns. False at deadline_ns. */
static bool end_until(struct koda_command *command, uint64_t deadline_ns)
{
	uint64_t until = deadline_ns < command->guardian_ns ? deadline_ns : command->guardian_ns;
	struct koda_exit ignored;
	int r = koda_proc_wait(&command->launcher.proc, until, &ignored, NULL);

	if (r == KODA_E_TIMEOUT && koda_clock_now() < command->guardian_ns)
		return false;
	if (r < 0)
		koda_proc_kill(&command->launcher.proc);
	koda_outcome_take_late(command);
	return true;
}

static void finish(struct koda_command *command)
{
	struct koda_outcome *outcome = &command->outcome;

	koda_stderr_scan_end(&command->stderr_scan);
	koda_terminal_close(&command->terminal);
	koda_listener_remove(KODA_TAKE(command->listener), koda_clock_now() + REMOVAL_NS);
	for (size_t i = 0; i < 2; i++) {
		outcome->output_bytes += command->output[i].total;
		outcome->output_dropped += koda_relay_dropped(&command->output[i]);
		if (!outcome->output_errno)
			outcome->output_errno = command->output[i].failed;
		outcome->ends_mid_line[i] =
			command->output[i].total > 0 && command->output[i].last != '\n';
	}
	if (outcome->output_dropped > 0)
		koda_outcome_reach(command, KODA_CEILING_OUTPUT);
	outcome->limits = command->limits;
	if (outcome->end == KODA_END_SETUP)
		atomic_store(&command->sandbox->backend_suspect, true);
	koda_command_emit_left_behind(command);
	outcome->left_behind_unknown = command->left.incomplete;
	command->phase = KODA_PHASE_OVER;
	koda_outcome_emit_exit(command);
}

/* Continues in the phase in which an earlier wait has stopped. */
static int wait_until(struct koda_command *command, uint64_t deadline_ns,
		      struct koda_outcome *ret_outcome, struct koda_error *err)
{
	bool last = deadline_ns >= command->deadline_ns;

	if (koda_sized_check(ret_outcome, OUTCOME_LEAST, "koda_outcome", err) < 0)
		return KODA_E_INVALID;
	if (command->phase == KODA_PHASE_OVER)
		return koda_fail(err, KODA_E_INVALID, 0, "the command was waited for already");
	if (command->phase == KODA_PHASE_RUNS) {
		if (!serve_until(command, last ? command->deadline_ns : deadline_ns)) {
			if (!last)
				return koda_fail(err, KODA_E_TIMEOUT, 0, "the command still runs");
			command->outcome.end = KODA_END_TIMEOUT;
			koda_outcome_reach(command, KODA_CEILING_WALL_TIME);
		}
		begin_end(command);
	}
	if (command->phase == KODA_PHASE_ENDS) {
		if (!end_until(command, deadline_ns))
			return koda_fail(err, KODA_E_TIMEOUT, 0, "the command is being ended");
		begin_drain(command);
	}
	if (!drain_until(command, deadline_ns))
		return koda_fail(err, KODA_E_TIMEOUT, 0,
				 "the command has ended, and its output waits for its reader");
	finish(command);
	koda_sized_give(ret_outcome, &command->outcome, sizeof(command->outcome));
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
