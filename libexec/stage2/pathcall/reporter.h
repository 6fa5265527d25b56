/* SPDX-License-Identifier: MIT */
/* A thread of init that is told of path calls, and reports those that the view refuses. */
#ifndef KODA_STAGE2_PATHCALL_REPORTER_H
#define KODA_STAGE2_PATHCALL_REPORTER_H

#include "plan.h"

/* Starts the thread, if the plan has a filter that reports. Privileges were dropped before, because
 * they belong to threads. */
void stage2_reporter_start(const struct plan *plan);
/* Called by the command's process, last of all before execve: installs the filter and passes the
 * listener to the thread. */
void stage2_reporter_hand_over(const struct plan *plan);
/* Reports how many denials had no record. */
void stage2_reporter_end(void);

#endif
