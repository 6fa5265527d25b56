/* SPDX-License-Identifier: MIT */
/*
 * Names to addresses, by the system's resolver in libuv's threads. Nothing is remembered, but who
 * asks for a name that the same sandbox is asking for already waits for the same answer. A sandbox
 * has only part of the threads, so that names which nobody answers for do not hold up the others:
 * no more than it leaves free.
 */
#ifndef KODA_EGRESS_RESOLVE_H
#define KODA_EGRESS_RESOLVE_H

#include "loop.h"

#include <koda/rules.h>

#define KODA_RESOLVE_THREADS 16
#define KODA_RESOLVE_QUEUE   256 /* names one sandbox may have waiting */
#define KODA_RESOLVE_ANSWERS 16  /* more are not looked at */

struct koda_resolver {
	struct koda_loop *loop;
	struct koda_link running;
	struct koda_link waiting;
};

struct koda_answers {
	size_t count; /* 0: no such name, or no answer */
	struct koda_addr addrs[KODA_RESOLVE_ANSWERS];
};

/* One who waits for a name. */
struct koda_lookup {
	struct koda_link link; /* among those who wait for the same */
	void (*done)(struct koda_lookup *lookup, const struct koda_answers *answers);
};

void koda_resolver_init(struct koda_resolver *resolver, struct koda_loop *loop);
/* All threads are there when it returns; afterwards a filter may forbid to make any.
 * Fails: SYS. */
KODA_CHECK int koda_resolver_start_threads(struct koda_resolver *resolver, struct koda_error *err);

void koda_lookup_init(struct koda_lookup *lookup);
/* Calls done later, never at once. Fails: LIMIT (the sandbox has too many waiting), NOMEM. */
KODA_CHECK int koda_lookup_start(struct koda_resolver *resolver, struct koda_lookup *lookup,
				 uint32_t sandbox, const char *name,
				 void (*done)(struct koda_lookup *lookup,
					      const struct koda_answers *answers));
/* done is not called any more. */
void koda_lookup_cancel(struct koda_lookup *lookup);

#endif
