/* SPDX-License-Identifier: MIT */
/* Lock-down of the calling process. Each setting is read back. */
#ifndef KODA_STAGE2_COMMAND_LOCK_H
#define KODA_STAGE2_COMMAND_LOCK_H

#include "plan.h"

#include <stdbool.h>

/* Sets the resource limits of the plan. */
void stage2_lock_limits(const struct plan *plan);
/* Drops the capability bounding set. Init does this once; the command inherits it. */
void stage2_lock_bounding_set(void);
/* Drops all capabilities, sets no_new_privs, joins a new session keyring. */
void stage2_lock_privileges(void);
/* Makes a Landlock ruleset with the plan's rules. */
int stage2_lock_rules(const struct plan *plan);
/* Adds the rules of the temporary directory and the terminal, which exist later. */
void stage2_lock_late_rules(const struct plan *plan, int ruleset);
/* Enters the Landlock domain and closes the ruleset. */
void stage2_lock_enter(int ruleset);
/* Takes the right to make sockets in trees of the host out of rules made from now on. */
void stage2_lock_no_sockets(void);
/* Installs the seccomp filter of the plan. */
void stage2_lock_filter(const struct plan *plan);
/* Installs the second filter; returns the descriptor on which brokered calls wait. */
int stage2_lock_notify_filter(const struct plan *plan);
/* Returns true if the plan has exactly these filters. */
bool stage2_lock_same_filters(const struct plan *plan, const struct plan *filters);

#endif
