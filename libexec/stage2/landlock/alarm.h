/* SPDX-License-Identifier: MIT */
/* A timer that interrupts system calls which would let init wait. */
#ifndef KODA_STAGE2_LANDLOCK_ALARM_H
#define KODA_STAGE2_LANDLOCK_ALARM_H

#include <stdbool.h>

/* Installs the handler of SIGALRM. Returns false with errno. */
bool stage2_alarm_prepare(void);
/* Starts or stops the timer. While it runs SIGALRM interrupts every call after a few milliseconds,
 * if it can be interrupted at all. Other signals stay blocked. */
void stage2_alarm_set(bool on);

#endif
