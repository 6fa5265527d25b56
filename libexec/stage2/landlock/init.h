/* SPDX-License-Identifier: MIT */
/* Init of the landlock backend. */
#ifndef KODA_STAGE2_LANDLOCK_INIT_H
#define KODA_STAGE2_LANDLOCK_INIT_H

/* Runs the guardian's child as init, above the command. */
_Noreturn void stage2_landlock_init(int guardian_fd);

#endif
