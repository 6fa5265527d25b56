/* SPDX-License-Identifier: MIT */
/*
 * One step in the life of a command that was launched: poll() what koda_command_step_wants names,
 * at most until koda_command_step_deadline, and act on it. Nothing here waits.
 */
#ifndef KODA_RUN_COMMAND_STEP_H
#define KODA_RUN_COMMAND_STEP_H

#include "run/command.h"

#include <poll.h>

#define KODA_COMMAND_STEP_POLLED (5 + KODA_LISTENER_POLLED)

struct koda_command_wants {
	struct pollfd polled[KODA_COMMAND_STEP_POLLED];
	struct koda_relay *owners[KODA_COMMAND_STEP_POLLED]; /* NULL: not of a relay */
	size_t of_kill;     /* kill_fd, if it is less than of_listener */
	size_t of_listener; /* the first that is the listener's */
	size_t count;
};

/* Fills in what the command waits for in its present phase. */
void koda_command_step_wants(const struct koda_command *command,
			     struct koda_command_wants *ret_wants);
/* Returns until when it waits for that, on the monotonic clock. */
uint64_t koda_command_step_deadline(const struct koda_command *command);
/* Acts on what poll() has returned, n or a negative errno, and on the deadline if late: it had
 * passed before poll() was called. Emits events. Does nothing in KODA_PHASE_OVER. */
void koda_command_step_act(struct koda_command *command, const struct koda_command_wants *wants,
			   int n, bool late);

#endif
