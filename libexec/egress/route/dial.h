/* SPDX-License-Identifier: MIT */
/* Addresses to connect to, one after the other. */
#ifndef KODA_EGRESS_ROUTE_DIAL_H
#define KODA_EGRESS_ROUTE_DIAL_H

#include "base/macros.h"

#include <koda/rules.h>

#define EGRESS_DIAL_MAX 8

struct egress_dial {
	struct koda_addr addrs[EGRESS_DIAL_MAX];
	uint8_t count;
	uint8_t next; /* index of the first address not tried */
	uint16_t port;
};

/* Adds an address that was allowed; further ones than EGRESS_DIAL_MAX are ignored. The second
 * address is of the other family, if there is one. */
void egress_dial_add(struct egress_dial *dial, const struct koda_addr *addr);
/* Starts connect(2) to the next address, which is addrs[next - 1] then. Returns a non-blocking
 * socket, or -1 with *ret_errno (0: no address is left). */
int egress_dial_next(struct egress_dial *dial, int *ret_errno);
/* Connects to the Unix socket at path. Returns a non-blocking socket, or -1 with *ret_errno. */
int egress_dial_socket(const char *path, int *ret_errno);
/* Sets TCP keep-alive: the kernel closes a connection to a dead peer within two minutes. Sockets
 * that a listener accepts inherit it; on other sockets than TCP it has no effect. */
void egress_dial_keep_alive(int fd);
/* Returns 1 if the socket is connected to this address and port, 0 if not yet, a negative errno if
 * it failed or getpeername(2) says otherwise. */
int egress_dial_check(int fd, const struct koda_addr *addr, uint16_t port);

#endif
