/* SPDX-License-Identifier: MIT */
/* Limits that init watches because the kernel does not enforce them. */
#ifndef KODA_STAGE2_INIT_WATCH_H
#define KODA_STAGE2_INIT_WATCH_H

#include "plan.h"

#include <stdbool.h>

/* Starts to watch: root: the number of processes; memory: the memory of the tree. */
void stage2_watch_start(const struct plan *plan, bool root, bool memory);
/* Returns the milliseconds until the next look; -1: there is nothing to watch. */
int stage2_watch_ms(void);
/* Looks if it is time to. Above a limit the runner gets a report, and everything but init gets
 * SIGKILL. */
void stage2_watch_look(void);

#endif
