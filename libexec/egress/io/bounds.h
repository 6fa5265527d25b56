/* SPDX-License-Identifier: MIT */
/*
 * T-83. Deadlines and limits. They are constants, not policy, in a file of their own so that tests
 * can link a proxy with short deadlines or low limits.
 */
#ifndef KODA_EGRESS_IO_BOUNDS_H
#define KODA_EGRESS_IO_BOUNDS_H

#include <stddef.h>
#include <stdint.h>

struct egress_bounds {
	/* Milliseconds. */
	uint32_t head;    /* first byte, whole head, ClientHello, handshake */
	uint32_t connect; /* lookup, all addresses, upstream proxy */
	uint32_t attempt; /* one address, if there are others */
	uint32_t ask;     /* the host's answer to a question */
	uint32_t idle;    /* no bytes in either direction */
	uint32_t tunnel;  /* no bytes in a tunnel with an open gate; keep-alive finds dead peers */
	uint32_t linger;  /* the client reads the final answer */
	uint32_t retry;   /* pause of accept4(2) after an error */
	/* Limits. */
	size_t tenants;
	size_t conns;         /* of all tenants; the number of descriptors may lower it */
	size_t tenant_conns;  /* of one tenant, at most half of all */
	size_t memory;        /* bytes of all connections' buffers */
	size_t tenant_memory; /* bytes of one tenant's buffers */
};

extern const struct egress_bounds egress_bounds;

#endif
