/* SPDX-License-Identifier: MIT */
/* Addresses to try, and a socket on its way to one of them. */
#ifndef KODA_EGRESS_DIAL_H
#define KODA_EGRESS_DIAL_H

#include "base/macros.h"

#include <koda/rules.h>

#define KODA_DIAL_MAX 8

struct koda_dial {
	struct koda_addr addrs[KODA_DIAL_MAX];
	uint8_t count;
	uint8_t next; /* the first that was not tried */
	uint16_t port;
};

/* Adds an address that was judged; what does not fit is left out. The second one tried is of the
 * other family, if there is one. */
void koda_dial_add(struct koda_dial *dial, const struct koda_addr *addr);
/* Begins to connect to the next address, which is then addrs[next - 1]. A non-blocking socket, or
 * -1 with *ret_errno (0: no address is left). */
int koda_dial_next(struct koda_dial *dial, int *ret_errno);
/* A connection to the Unix socket at path; non-blocking, or -1 with *ret_errno. */
int koda_dial_socket(const char *path, int *ret_errno);
/* Where the socket leads: 1 to this address and port, 0 not connected yet, negative errno when that
 * failed or it leads elsewhere. */
int koda_dial_check(int fd, const struct koda_addr *addr, uint16_t port);

#endif
