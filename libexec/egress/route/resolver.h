/* SPDX-License-Identifier: MIT */
/*
 * Looks up names with getaddrinfo(3) in libuv's threads. Results are not cached, but lookups of one
 * name by one tenant share a query. A tenant gets a part of the threads (egress_budget_share), so
 * that names which get no answer do not delay other tenants.
 */
#ifndef KODA_EGRESS_ROUTE_RESOLVER_H
#define KODA_EGRESS_ROUTE_RESOLVER_H

#include "io/loop.h"

#include <koda/rules.h>

#define EGRESS_RESOLVER_THREADS 32
#define EGRESS_RESOLVER_TENANT  8   /* threads of one tenant, while half of all are free */
#define EGRESS_RESOLVER_QUEUE   256 /* names of one tenant that wait */
#define EGRESS_RESOLVER_ANSWERS 16  /* addresses of one name; more are ignored */

struct egress_resolver {
	struct egress_loop *loop;
	struct egress_link running;
	struct egress_link waiting;
};

struct egress_answers {
	size_t count; /* 0: no such name, or no answer */
	struct koda_addr addrs[EGRESS_RESOLVER_ANSWERS];
};

/* A request for the addresses of a name. */
struct egress_lookup {
	struct egress_link link; /* in the query that looks the name up */
	bool relative; /* the name is from the host's configuration: its search list applies */
	void (*done)(struct egress_lookup *lookup, const struct egress_answers *answers);
};

void egress_resolver_init(struct egress_resolver *resolver, struct egress_loop *loop);
/* Starts all threads, and waits until they run; the system-call filter forbids it later. Fails:
 * SYS. */
KODA_CHECK int egress_resolver_start_threads(struct egress_resolver *resolver,
					     struct koda_error *err);

void egress_resolver_lookup_init(struct egress_lookup *lookup);
/* Looks up the name as an absolute one, unless lookup->relative is set. Calls done later, never
 * before it returns. Fails: LIMIT (too many names of the tenant wait), NOMEM. */
KODA_CHECK int egress_resolver_lookup(struct egress_resolver *resolver,
				      struct egress_lookup *lookup, uint32_t sandbox,
				      const char *name,
				      void (*done)(struct egress_lookup *lookup,
						   const struct egress_answers *answers));
/* Cancels a lookup: done will not be called. */
void egress_resolver_cancel(struct egress_lookup *lookup);

#endif
