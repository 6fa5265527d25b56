/* SPDX-License-Identifier: MIT */
/* The network namespace, with nothing but a loopback device. */
#ifndef KODA_STAGE2_INIT_NET_H
#define KODA_STAGE2_INIT_NET_H

#include "plan.h"

#include <stdint.h>

/* Makes the network namespace. */
void stage2_net_make(void);
/* Makes it in a child process that shares the descriptor table, from begin to join. Until then only
 * descriptors of the caller's own may be closed. */
void stage2_net_begin(void);
void stage2_net_join(void);
/* Returns the port at which the command expects the proxy; 0: the plan has no proxy. */
uint16_t stage2_net_port(const struct plan *plan);
/* Listens on the loopback device at *port, or, if that is 0, at a port that the kernel chooses. */
int stage2_net_listen_at(uint16_t *port);
/* Returns the socket at which the proxy accepts; -1: the plan has no proxy. */
int stage2_net_listen(const struct plan *plan);

#endif
