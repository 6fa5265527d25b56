/* SPDX-License-Identifier: MIT */
/*
 * How long each step of a connection may take, and how many of what there may be. Constants, and no
 * matter of policy; they are in a file of their own so that tests can link a proxy that is in a
 * hurry and has little room.
 */
#ifndef KODA_EGRESS_BOUNDS_H
#define KODA_EGRESS_BOUNDS_H

#include <stddef.h>
#include <stdint.h>

struct koda_bounds {
	/* Milliseconds. */
	uint32_t head;    /* first byte, whole head, TLS greeting, handshake */
	uint32_t connect; /* look-up, all addresses, upstream proxy */
	uint32_t attempt; /* one address, if there are others */
	uint32_t ask;     /* an answer of the host */
	uint32_t idle;    /* silence in both directions */
	uint32_t linger;  /* the client reads our last answer */
	uint32_t retry;   /* accepting again after an error */
	/* Ceilings. */
	size_t tenants;
	size_t conns;         /* all sandboxes, and not more than descriptors allow */
	size_t tenant_conns;  /* one sandbox, and not more than half of all */
	size_t memory;        /* bytes that the buffers of all connections may take up */
	size_t tenant_memory; /* the same of one sandbox */
};

extern const struct koda_bounds koda_bounds;

#endif
