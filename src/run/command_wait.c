/* SPDX-License-Identifier: MIT */
/* Waits for a command, or for a moment: both repeat the step of command_step.c. */
#include "base/clock.h"
#include "base/error.h"
#include "base/sized.h"
#include "run/command_poll.h"
#include "run/command_step.h"
#include "run/in_use.h"

#include <errno.h>

/* How many steps koda_command_step takes while there is something to do. More would keep a host
 * with other commands waiting. */
#define STEPS_AT_ONCE 16

/* Polls once, until deadline_ns at most, and acts. Returns whether anything was ready, or the phase
 * has changed. */
static bool step_until(struct koda_command *command, uint64_t deadline_ns)
{
	const enum koda_phase phase = command->phase;
	const uint64_t own_ns = koda_command_step_deadline(command);
	const bool late = koda_clock_now() >= own_ns;
	struct koda_command_wants wants;
	int n;

	koda_command_step_wants(command, &wants);
	n = poll(wants.polled, wants.count,
		 koda_clock_left_ms(deadline_ns < own_ns ? deadline_ns : own_ns));
	if (n < 0)
		n = errno == EINTR ? 0 : -errno;
	koda_command_step_act(command, &wants, n, late);
	return n > 0 || command->phase != phase;
}

/* Fills in the outcome of a command that is over. Returns 1, or the error of a failed set-up. */
static int conclude(struct koda_command *command, struct koda_outcome *ret_outcome,
		    struct koda_error *err)
{
	koda_sized_give(ret_outcome, &command->outcome, sizeof(command->outcome));
	if (command->outcome.end != KODA_END_SETUP)
		return 1;
	if (err)
		*err = command->failure;
	return command->failure.code;
}

/* Begins a wait or a step. Fails: INVALID. */
static int begin(struct koda_command *command, const struct koda_outcome *ret_outcome,
		 struct koda_error *err)
{
	int r = koda_sized_check(ret_outcome, sizeof(*ret_outcome), "koda_outcome", err);

	if (r == KODA_OK)
		r = koda_in_use_begin(&command->in_use, "command", err);
	if (r == KODA_OK && command->phase == KODA_PHASE_OVER) {
		koda_command_release(command);
		r = koda_fail(err, KODA_E_INVALID, 0, "the command was waited for already");
	}
	if (r == KODA_OK)
		koda_command_poll_suspend(command);
	return r;
}

static int fail_unfinished(const struct koda_command *command, struct koda_error *err)
{
	const char *what = command->phase == KODA_PHASE_RUNS   ? "the command still runs"
			   : command->phase == KODA_PHASE_ENDS ? "the command is being ended"
							       : "the command has ended, and its "
								 "output waits for its reader";

	return koda_fail(err, KODA_E_TIMEOUT, 0, "%s", what);
}

static int wait_until(struct koda_command *command, uint64_t deadline_ns,
		      struct koda_outcome *ret_outcome, struct koda_error *err)
{
	int r = begin(command, ret_outcome, err);

	if (r < 0)
		return r;
	while (r == KODA_OK) {
		const enum koda_phase phase = command->phase;
		bool is_last = koda_clock_now() >= deadline_ns;

		(void)step_until(command, deadline_ns);
		if (command->phase == KODA_PHASE_OVER)
			r = conclude(command, ret_outcome, err);
		else if (is_last && command->phase == phase)
			r = fail_unfinished(command, err);
	}
	koda_command_poll_update(command);
	koda_command_release(command);
	return r > 0 ? KODA_OK : r;
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

int koda_command_step(struct koda_command *command, struct koda_outcome *ret_outcome,
		      struct koda_error *err)
{
	int r = begin(command, ret_outcome, err);
	bool more = true;

	if (r < 0)
		return r;
	for (int i = 0; more && i < STEPS_AT_ONCE && command->phase != KODA_PHASE_OVER; i++)
		more = step_until(command, 0);
	if (command->phase == KODA_PHASE_OVER)
		r = conclude(command, ret_outcome, err);
	koda_command_poll_update(command);
	koda_command_release(command);
	return r;
}

int koda_command_fd(struct koda_command *command, struct koda_error *err)
{
	int r = koda_in_use_begin(&command->in_use, "command", err);

	if (r < 0)
		return r;
	r = koda_command_poll_fd(command, err);
	koda_command_release(command);
	return r;
}
