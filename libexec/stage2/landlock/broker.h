/* SPDX-License-Identifier: MIT */
/* Where there are no namespaces, some system calls of the command wait for init (T-37). */
#ifndef KODA_STAGE2_LANDLOCK_BROKER_H
#define KODA_STAGE2_LANDLOCK_BROKER_H

#include "landlock/broker_proxy.h"
#include "plan.h"

#include <poll.h>

/* Takes over the seccomp listener on which calls wait. */
void stage2_broker_start(const struct plan *plan, int listener, const struct proxy_route *route);

/* Writes what to poll, at most STAGE2_BROKER_POLLED entries, and the timeout in milliseconds or -1.
 * Returns the number of entries. */
#define STAGE2_BROKER_POLLED (STAGE2_BROKER_PENDING + 1)
size_t stage2_broker_wants(struct pollfd *polled, int *ret_ms);
/* Performs waiting calls; called after every poll. */
void stage2_broker_step(void);

#endif
