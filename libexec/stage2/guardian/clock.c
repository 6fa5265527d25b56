/* SPDX-License-Identifier: MIT */
#include "guardian/clock.h"

#include <time.h>

/* The runner waits five seconds for the guardian; this leaves it one. */
#define DEADLINE_MS 4000

static uint64_t deadline_ms; /* 0: the end has not begun */

uint64_t stage2_clock_now(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

uint64_t stage2_clock_deadline(void)
{
	if (deadline_ms == 0)
		deadline_ms = stage2_clock_now() + DEADLINE_MS;
	return deadline_ms;
}
