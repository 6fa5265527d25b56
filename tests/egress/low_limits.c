/* SPDX-License-Identifier: MIT */
/* The limits of a proxy that is linked for tests: little memory, and time enough. */
#include "io/bounds.h"

const struct egress_bounds egress_bounds = {
	.head = 60000,
	.connect = 60000,
	.attempt = 2000,
	.ask = 60000,
	.idle = 300000,
	.tunnel = 3600000,
	.linger = 2000,
	.retry = 500,
	.tenants = 4,
	.conns = 4000,
	.tenant_conns = 1000,
	.memory = (size_t)16 << 20,
	.tenant_memory = (size_t)6 << 20,
};
