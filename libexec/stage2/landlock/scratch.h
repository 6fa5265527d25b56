/* SPDX-License-Identifier: MIT */
/* The command's temporary directory where no namespace gives it a /tmp. */
#ifndef KODA_STAGE2_LANDLOCK_SCRATCH_H
#define KODA_STAGE2_LANDLOCK_SCRATCH_H

#include "plan.h"

/* Makes the temporary directory of the plan, and locks it. */
void stage2_scratch_make(const struct plan *plan);
/* Lets this process remove it, too. */
void stage2_scratch_adopt(const struct plan *plan);
/* Removes it, if there is one. */
void stage2_scratch_remove(void);

#endif
