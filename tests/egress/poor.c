/* SPDX-License-Identifier: MIT */
/* The limits of a proxy that is linked for tests: little memory, and time enough. */
#include "bounds.h"

const struct koda_bounds koda_bounds = {
	.head = 60000,
	.connect = 60000,
	.attempt = 2000,
	.ask = 60000,
	.idle = 300000,
	.linger = 2000,
	.retry = 500,
	.tenants = 4,
	.conns = 2000,
	.tenant_conns = 1000,
	.memory = (size_t)8 << 20,
	.tenant_memory = (size_t)6 << 20,
};
