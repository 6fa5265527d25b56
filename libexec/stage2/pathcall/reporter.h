/* SPDX-License-Identifier: MIT */
/* Init is told of path calls, and reports those that the view refuses. */
#ifndef KODA_STAGE2_PATHCALL_REPORTER_H
#define KODA_STAGE2_PATHCALL_REPORTER_H

#include "plan.h"

#include <stdbool.h>

/* Prepares for the listener. Returns false if the plan has no filter that reports. The command's
 * process, which is started then, has to be one that init does not wait for: its execve may be told
 * of. */
bool stage2_reporter_start(const struct plan *plan);
/* Called by the command's process, last of all before execve: installs the filter and passes the
 * listener to init. */
void stage2_reporter_hand_over(const struct plan *plan);
/* Receives the listener. Returns false if the command's process has failed before. */
bool stage2_reporter_receive(void);
/* Returns the listener, to be polled; -1 if there is none. */
int stage2_reporter_fd(void);
/* Takes a call that waits; events are those of poll. */
void stage2_reporter_step(short events);
/* Reports how many denials had no record. */
void stage2_reporter_end(void);

#endif
