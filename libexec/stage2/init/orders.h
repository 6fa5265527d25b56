/* SPDX-License-Identifier: MIT */
/* What the guardian tells init once it has done its part of the plan on the host. */
#ifndef KODA_STAGE2_INIT_ORDERS_H
#define KODA_STAGE2_INIT_ORDERS_H

#include <stdbool.h>
#include <stdint.h>

#define STAGE2_SLOTS_MAX  16
#define STAGE2_NAMESPACES 7

struct namespace_name {
	char text[32]; /* "mnt:[4026531841]" */
};

struct init_orders {
	struct namespace_name outside[STAGE2_NAMESPACES]; /* the guardian's own */
	bool cgroup;                   /* init has been moved into a control group */
	int8_t slot[STAGE2_SLOTS_MAX]; /* of each cache, in the plan's order; -1: none */
};

#endif
