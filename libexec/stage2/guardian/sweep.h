/* SPDX-License-Identifier: MIT */
/* Removes what killed runs and unused projects have left behind. */
#ifndef KODA_STAGE2_GUARDIAN_SWEEP_H
#define KODA_STAGE2_GUARDIAN_SWEEP_H

#include "plan.h"

/* A command that has taken so long gets a sweeper beside it. */
#define STAGE2_SWEEP_AFTER_MS 250

/* Remembers the plan that names the directories to sweep. */
void stage2_sweep_use(const struct plan *plan);
/* Starts the sweeper, a child process. */
void stage2_sweep_start(void);
/* Kills the sweeper. */
void stage2_sweep_stop(void);
/* Sweeps the journals once more at the end of a command that had a sweeper: the command itself may
 * have kept a directory of another run locked. Takes half a second at most, and ends by
 * stage2_clock_deadline. */
void stage2_sweep_last(void);

#endif
