/* SPDX-License-Identifier: MIT */
/* How a command ended: takes the launcher's reports, and emits the events of limits and the end. */
#ifndef KODA_RUN_OUTCOME_H
#define KODA_RUN_OUTCOME_H

#include "run/command.h"
#include "wire/report.h"

/* Emits that a limit was reached, once for each limit. */
void koda_outcome_reach(struct koda_command *command, enum koda_limit which);

/* Takes a report that brings no descriptor. True if it is the last that matters: reports after a
 * failure only repeat it. */
bool koda_outcome_take(struct koda_command *command, const struct koda_report *report);

/* Reads the reports that came after the command's end. Only limits count. */
void koda_outcome_take_late(struct koda_command *command);

/* Settles the outcome of a command that is freed while it runs: its last report if that has come,
 * SIGKILL otherwise, which the caller sends next. Does nothing for a command that has ended. */
void koda_outcome_abandon(struct koda_command *command);

/* Writes why nothing ran: the place of the error, and its message. */
#define KODA_OUTCOME_MESSAGE_MAX                                                                   \
	(sizeof(((struct koda_error *)NULL)->field) +                                              \
	 sizeof(((struct koda_error *)NULL)->message) + 2)
void koda_outcome_message(const struct koda_error *why, char out[KODA_OUTCOME_MESSAGE_MAX]);
/* Returns how a command ended that was not started because of an error. */
enum koda_end koda_outcome_end_of(int code);
/* The code in the exit event of a command that did not run, and the exit status of koda-sandbox. */
#define KODA_OUTCOME_NOTHING_RAN 125

/* Emits the exit event, once, if the host got the start event. */
void koda_outcome_emit_exit(struct koda_command *command);

#endif
