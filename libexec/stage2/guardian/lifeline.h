/* SPDX-License-Identifier: MIT */
/* The lifeline: the socket between runner and guardian whose end ends everything. */
#ifndef KODA_STAGE2_GUARDIAN_LIFELINE_H
#define KODA_STAGE2_GUARDIAN_LIFELINE_H

#include <stdbool.h>

/* Opens a pidfd of the runner, the peer of the lifeline. Fails if it is not the parent any more. */
void stage2_lifeline_hold_runner(void);
/* Waits for the message that the plan is sealed. Returns false if the lifeline ends before. */
bool stage2_lifeline_wait_for_plan(void);
/* Watches lifeline, runner and wall time. Each signal of the runner goes through pass, until that
 * returns false, the lifeline ends or the process of pidfd ends. That process has ended, or has got
 * SIGKILL, when this returns. */
void stage2_lifeline_watch(int pidfd, int init_pipe,
			   bool (*pass)(int pidfd, int init_pipe, unsigned char number));
/* Passes a signal to init: SIGSTOP by a byte on init_pipe, because it would stop init itself, all
 * others by the pidfd. Returns true. */
bool stage2_lifeline_pass(int pidfd, int init_pipe, unsigned char number);

#endif
