/* SPDX-License-Identifier: MIT */
/*
 * T-07. The addresses of this machine. A public address may be this machine's, with services that
 * trust local clients. rtnetlink reports changes; every query reads these messages first, and
 * reloads the list if there are any.
 */
#ifndef KODA_EGRESS_ROUTE_HOST_ADDRS_H
#define KODA_EGRESS_ROUTE_HOST_ADDRS_H

#include <koda/rules.h>

struct egress_host_addrs {
	int changes; /* owned: netlink socket; -1: the list is fixed */
	bool stale;
	struct koda_addr *addrs; /* owned */
	size_t count;
};

#define EGRESS_HOST_ADDRS_INIT                                                                     \
	{                                                                                          \
		.changes = -1                                                                      \
	}

/* Subscribes to changes and loads the list. Fails: SYS, NOMEM. */
KODA_CHECK int egress_host_addrs_open(struct egress_host_addrs *list, struct koda_error *err);
/* Returns whether the machine has this address; true also if the list cannot be loaded. */
bool egress_host_addrs_has(struct egress_host_addrs *list, const struct koda_addr *addr);
void egress_host_addrs_close(struct egress_host_addrs *list);

#endif
