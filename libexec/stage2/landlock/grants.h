/* SPDX-License-Identifier: MIT */
/* The Landlock rules with a right to write, for what init does in place of the command. */
#ifndef KODA_STAGE2_LANDLOCK_GRANTS_H
#define KODA_STAGE2_LANDLOCK_GRANTS_H

#include "plan.h"

#include <stdbool.h>
#include <stdint.h>

/* Takes the rules from the plan. */
void stage2_grants_load(const struct plan *plan);
/* Returns true if some rule grants the right on what fd is open at. */
bool stage2_grants_allow(int fd, uint64_t right);

#endif
