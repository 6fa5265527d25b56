/* SPDX-License-Identifier: MIT */
/* The limits of a proxy that is linked for tests: reached soon, but not by those who try to keep
 * them. */
#include "bounds.h"

const struct koda_bounds koda_bounds = {
	.head = 1500,
	.connect = 1500,
	.attempt = 700,
	.ask = 1500,
	.idle = 2500,
	.linger = 500,
	.retry = 200,
	.tenants = 4,
	.conns = 16,
	.tenant_conns = 6,
	.memory = (size_t)512 << 10,
	.tenant_memory = (size_t)160 << 10,
};
