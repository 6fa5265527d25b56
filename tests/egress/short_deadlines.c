/* SPDX-License-Identifier: MIT */
/* Deadlines for a proxy in tests: short, but long enough for clients that meet them. */
#include "io/bounds.h"

const struct egress_bounds egress_bounds = {
	.head = 1500,
	.connect = 1500,
	.attempt = 700,
	.ask = 1500,
	.idle = 2500,
	.tunnel = 6000,
	.linger = 500,
	.retry = 200,
	.tenants = 4,
	.conns = 16,
	.tenant_conns = 6,
	.memory = (size_t)512 << 10,
	.tenant_memory = (size_t)160 << 10,
};
