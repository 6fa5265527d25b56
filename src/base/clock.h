/* SPDX-License-Identifier: MIT */
/* The monotonic clock, and absolute deadlines on it. */
#ifndef KODA_BASE_CLOCK_H
#define KODA_BASE_CLOCK_H

#include <stdint.h>

#define KODA_DEADLINE_NEVER UINT64_MAX

/* Returns the nanoseconds of CLOCK_MONOTONIC. */
uint64_t koda_clock_now(void);
/* Returns the timeout for poll(2), in milliseconds, until an absolute deadline: at most 60000, and
 * -1 for KODA_DEADLINE_NEVER. */
int koda_clock_left_ms(uint64_t deadline_ns);

#endif
