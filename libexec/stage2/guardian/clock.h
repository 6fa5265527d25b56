/* SPDX-License-Identifier: MIT */
/* The guardian's clock, and the time at which the end of a run must be over. */
#ifndef KODA_STAGE2_GUARDIAN_CLOCK_H
#define KODA_STAGE2_GUARDIAN_CLOCK_H

#include <stdint.h>

/* Returns CLOCK_MONOTONIC in milliseconds. */
uint64_t stage2_clock_now(void);
/* Returns when the guardian must have finished, in milliseconds. The first call says that the end
 * of the run has begun. */
uint64_t stage2_clock_deadline(void);

#endif
