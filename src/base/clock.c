/* SPDX-License-Identifier: MIT */
#include "base/clock.h"

#include <time.h>

uint64_t koda_clock_now(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t); /* cannot fail for this clock */
	return (uint64_t)t.tv_sec * 1000000000U + (uint64_t)t.tv_nsec;
}

int koda_clock_left_ms(uint64_t deadline_ns)
{
	uint64_t now;
	uint64_t ms;

	if (deadline_ns == KODA_DEADLINE_NEVER)
		return -1;
	now = koda_clock_now();
	if (now >= deadline_ns)
		return 0;
	ms = (deadline_ns - now + 999999) / 1000000;
	return ms > 60000 ? 60000 : (int)ms;
}
