/* SPDX-License-Identifier: MIT */
/*
 * The host's own addresses. A public address may still be this machine's, with services that trust
 * whoever comes from it. The kernel says when an address comes or goes; the list is read again only
 * then, but that is asked before every answer.
 */
#ifndef KODA_EGRESS_OWN_H
#define KODA_EGRESS_OWN_H

#include <koda/rules.h>

struct koda_own {
	int changes; /* owned: netlink socket; -1: the list is fixed */
	bool stale;
	struct koda_addr *addrs; /* owned */
	size_t count;
};

#define KODA_OWN_INIT                                                                              \
	{                                                                                          \
		.changes = -1                                                                      \
	}

/* Subscribes and reads the list. Fails: SYS, NOMEM. */
KODA_CHECK int koda_own_open(struct koda_own *own, struct koda_error *err);
/* True also if that cannot be told. */
bool koda_own_has(struct koda_own *own, const struct koda_addr *addr);
void koda_own_close(struct koda_own *own);

#endif
