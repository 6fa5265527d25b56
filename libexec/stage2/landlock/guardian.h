/* SPDX-License-Identifier: MIT */
/* The guardian of the landlock backend. */
#ifndef KODA_STAGE2_LANDLOCK_GUARDIAN_H
#define KODA_STAGE2_LANDLOCK_GUARDIAN_H

/* Runs the guardian from the fork of init to the end of the process tree. */
void stage2_landlock_guard(void);

#endif
