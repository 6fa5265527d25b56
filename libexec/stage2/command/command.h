/* SPDX-License-Identifier: MIT */
/* The process that becomes the command. */
#ifndef KODA_STAGE2_COMMAND_COMMAND_H
#define KODA_STAGE2_COMMAND_COMMAND_H

#include "plan.h"

#include <sys/types.h>

/* Starts a session and drops privileges: what no plan changes. */
void stage2_command_begin(void);
/* Takes the terminal, enters the working directory, sets resource limits. */
void stage2_command_prepare(const struct plan *plan);
/* Executes the program of the plan. */
_Noreturn void stage2_command_become(const struct plan *plan);
/* Starts the process that does all of it. Returns when it has executed the program, or ended. */
pid_t stage2_command_start(const struct plan *plan, int *ret_pidfd);
/* Returns a pidfd of a command that has not executed the program. */
int stage2_command_hold(pid_t command);

#endif
