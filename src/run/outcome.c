/* SPDX-License-Identifier: MIT */
#include "run/outcome.h"

#include "base/clock.h"
#include "base/error.h"
#include "run/command_hint.h"
#include "run/project/remedy.h"
#include "wire/launch_step.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/wait.h>

/* The exit status of a shell is this plus the number of the signal that killed its command. */
#define SHELL_SIGNAL 128

void koda_outcome_reach(struct koda_command *command, enum koda_limit which)
{
	struct koda_event event = { .type = KODA_EVENT_LIMIT };
	koda_auto_free char *hint = NULL;

	if (command->reached & 1U << which)
		return;
	command->reached |= 1U << which;
	hint = koda_command_hint_limit(command, which);
	event.data.limit = (struct koda_event_limit){ which, command->limits[which], hint };
	koda_command_emit(command, event);
}

static void reach_reported(struct koda_command *command, const struct koda_report *report)
{
	static const enum koda_limit which[] = {
		[KODA_REPORT_LIMIT_PROCESSES] = KODA_LIMIT_PROCESSES,
		[KODA_REPORT_LIMIT_MEMORY] = KODA_LIMIT_MEMORY,
		[KODA_REPORT_LIMIT_WALL_TIME] = KODA_LIMIT_WALL_TIME,
	};

	if (report->status >= KODA_REPORT_LIMIT_PROCESSES &&
	    report->status < (int)KODA_ARRAY_LEN(which))
		koda_outcome_reach(command, which[report->status]);
}

static void take_end(struct koda_command *command, const struct koda_report *report)
{
	struct koda_outcome *outcome = &command->outcome;
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
		koda_outcome_reach(command, KODA_LIMIT_CPU_TIME);
	else if (signal == SIGXFSZ)
		koda_outcome_reach(command, KODA_LIMIT_FILE_SIZE);
}

bool koda_outcome_take(struct koda_command *command, const struct koda_report *report)
{
	struct koda_outcome *outcome = &command->outcome;

	switch (report->kind) {
	case KODA_REPORT_TERMINAL:
	case KODA_REPORT_LISTENER:
	case KODA_REPORT_DENIED:
		return false;
	case KODA_REPORT_READY:
		command->open_view = report->status == KODA_REPORT_READY_OPEN;
		return false;
	case KODA_REPORT_LIMIT:
		reach_reported(command, report);
		if (report->status != KODA_REPORT_LIMIT_WALL_TIME)
			return false;
		outcome->end = KODA_END_WALL_TIME;
		return true;
	case KODA_REPORT_EXITED:
		take_end(command, report);
		return true;
	case KODA_REPORT_EXEC_FAILED:
		outcome->end = KODA_END_EXEC;
		outcome->sys_errno = report->sys_errno;
		return true;
	default:
		command->unstarted = true;
		(void)koda_fail_at(&command->failure, KODA_E_SYS, report->sys_errno, report->path,
				   "%s", koda_launch_step_text(report->step));
		koda_remedy_add_for_step(&command->failure, report->step);
		return true;
	}
}

/* Reads a report without waiting. Descriptors that it brings are dropped. */
static bool next_report(const struct koda_command *command, struct koda_report *report)
{
	ssize_t n;

	do {
		n = recv(command->launcher.channels.status[0], report, sizeof(*report),
			 MSG_DONTWAIT);
	} while (n >= (ssize_t)sizeof(report->kind) && report->kind == KODA_REPORT_DENIED);
	if (n != (ssize_t)sizeof(*report))
		return false;
	report->path[sizeof(report->path) - 1] = '\0';
	return true;
}

void koda_outcome_take_late(struct koda_command *command)
{
	struct koda_report report;

	while (next_report(command, &report))
		if (report.kind == KODA_REPORT_LIMIT)
			reach_reported(command, &report);
}

void koda_outcome_abandon(struct koda_command *command)
{
	struct koda_report report;

	if (command->phase != KODA_PHASE_RUNS)
		return;
	command->phase = KODA_PHASE_OVER;
	while (next_report(command, &report))
		if (koda_outcome_take(command, &report))
			return;
	command->outcome.end = KODA_END_SIGNAL;
	command->outcome.signal = SIGKILL;
	atomic_store(&command->killed, true);
}

void koda_outcome_message(const struct koda_error *why, char out[KODA_OUTCOME_MESSAGE_MAX])
{
	(void)snprintf(out, KODA_OUTCOME_MESSAGE_MAX, "%s%s%s", why->field,
		       why->field[0] ? ": " : "", why->message);
}

enum koda_end koda_outcome_end_of(int code)
{
	return code == KODA_E_SYS || code == KODA_E_UNSUPPORTED || code == KODA_E_CHILD
		       ? KODA_END_SETUP
		       : KODA_END_REFUSED;
}

void koda_outcome_emit_exit(struct koda_command *command)
{
	struct koda_outcome *outcome = &command->outcome;
	struct koda_event event = { .type = KODA_EVENT_EXIT };
	struct koda_event_exit *end = &event.data.exit;
	char message[KODA_OUTCOME_MESSAGE_MAX];

	if (!command->announced)
		return;
	koda_command_emit_untold(command);
	command->announced = false;
	outcome->by_host = outcome->end == KODA_END_SIGNAL && outcome->signal == SIGKILL &&
			   atomic_load(&command->killed);
	*end = (struct koda_event_exit){
		.code = -1,
		.end = outcome->end,
		.wall_ms = (double)(koda_clock_now() - command->started_ns) / 1e6,
		.by_host = outcome->by_host,
	};
	switch (outcome->end) {
	case KODA_END_EXITED:
		end->code = outcome->code;
		break;
	case KODA_END_SIGNAL:
		end->signal = outcome->signal;
		break;
	case KODA_END_EXEC:
		/* The exit status of a shell for a program that it cannot execute. */
		end->code = outcome->sys_errno == ENOENT ? 127 : 126;
		break;
	case KODA_END_SETUP:
		koda_outcome_message(&command->failure, message);
		end->code = KODA_OUTCOME_NOTHING_RAN;
		end->message = message;
		break;
	case KODA_END_REFUSED:
	case KODA_END_WALL_TIME:
	case KODA_END_COUNT:
		break;
	}
	koda_command_emit(command, event);
}

uint64_t koda_command_limit(const struct koda_command *command, enum koda_limit which)
{
	return (unsigned int)which < KODA_LIMIT_COUNT ? command->limits[which] : UINT64_MAX;
}

bool koda_command_left_behind(const struct koda_command *command, size_t i,
			      struct koda_event_left_behind *ret_left)
{
	const struct koda_left_behind *left = &command->left;

	if (i >= left->count)
		return false;
	*ret_left =
		(struct koda_event_left_behind){ .path = left->items[i].path,
						 .what = left->items[i].what,
						 .more = i + 1 == left->count ? left->more : 0 };
	return true;
}
