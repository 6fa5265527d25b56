/* SPDX-License-Identifier: MIT */
/* Reserves the protected names of a plan with placeholders. */
#ifndef KODA_STAGE2_GUARDIAN_RESERVE_H
#define KODA_STAGE2_GUARDIAN_RESERVE_H

#include "guardian/reservation.h"
#include "plan.h"

#include <sys/types.h>

/* Makes the placeholders of the plan and locks the directories they are in. */
void stage2_reserve_all(const struct plan *plan);
/* Removes them, or leaves them to the runs that need them (stage2_handover_undo). */
void stage2_reserve_undo(void);
/* Leaves them to later runs, which wait for the end of a process. */
void stage2_reserve_postpone(pid_t process);
/* Returns everything that is reserved. Closes the descriptor that was kept for looking at it. */
struct reservation *stage2_reserve_list(size_t *ret_count);

#endif
