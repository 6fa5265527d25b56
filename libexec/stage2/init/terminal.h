/* SPDX-License-Identifier: MIT */
/* The command's own terminal, if the plan has one. */
#ifndef KODA_STAGE2_INIT_TERMINAL_H
#define KODA_STAGE2_INIT_TERMINAL_H

#include "plan.h"

#include <stdbool.h>
#include <sys/types.h>

/* Makes the terminal and puts it in the place of init's streams. */
void stage2_terminal_open(const struct plan *plan);
/* Makes it the controlling terminal of the command's session. */
void stage2_terminal_control(const struct plan *plan);
/* Sends a signal of the runner to the command's process group, and remembers SIGSTOP. */
void stage2_terminal_pass(pid_t command, int number);
/* Sends SIGCONT to a command that has stopped itself, as editors and shells do on Ctrl-Z: no shell
 * above it would continue it. Returns true if it has ended instead. */
bool stage2_terminal_continue(pid_t command, int *ret_status);

#endif
