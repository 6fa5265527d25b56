/* SPDX-License-Identifier: MIT */
#include "io/bounds.h"

const struct egress_bounds egress_bounds = {
	.head = 10000,
	.connect = 10000,
	.attempt = 2000,
	.ask = 60000,
	.idle = 300000,
	.tunnel = 3600000,
	.linger = 2000,
	.retry = 500,
	.tenants = 1024,
	.conns = 16384,
	.tenant_conns = 4096,
	.memory = (size_t)256 << 20,
	.tenant_memory = (size_t)64 << 20,
};
