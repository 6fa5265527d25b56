/* SPDX-License-Identifier: MIT */
/* Descriptors that the host passes to the command. */
#ifndef KODA_STAGE2_COMMAND_PASSED_FDS_H
#define KODA_STAGE2_COMMAND_PASSED_FDS_H

#include "plan.h"

/* Receives the plan's descriptors from the runner. Fails if others come, or one is refused. */
void stage2_passed_fds_take(const struct plan *plan);
/* Gives each its number in the command. */
void stage2_passed_fds_give(void);
/* Closes them in the process that started the command. */
void stage2_passed_fds_drop(void);

#endif
