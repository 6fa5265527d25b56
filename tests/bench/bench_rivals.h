/* SPDX-License-Identifier: MIT */
/* Proxies that others made, as far as they are installed, and the namespace that clients are in. */
#ifndef KODA_BENCH_RIVALS_H
#define KODA_BENCH_RIVALS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define BENCH_LISTENERS 3

/* A network namespace as a sandbox has it, held by a process that ends with this one; the listeners
 * in it, and their ports. */
struct bench_inside {
	pid_t holder;
	int listeners[BENCH_LISTENERS];
	uint16_t ports[BENCH_LISTENERS];
};

/* False if this machine does not let us. */
bool bench_inside_make(struct bench_inside *inside);
/* The calling process, which has one thread, goes there. */
bool bench_inside_enter(const struct bench_inside *inside);

/* Starts it for connections to this port, in a directory of its own. False if it is not there. */
bool bench_start_tinyproxy(uint16_t to, uint16_t *ret_port, pid_t *ret_pid);
bool bench_start_squid(uint16_t to, uint16_t *ret_port, pid_t *ret_pid);

#endif
