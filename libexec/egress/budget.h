/* SPDX-License-Identifier: MIT */
/*
 * T-83. What the buffers of one sandbox's connections may take up together, and what those of all
 * of them may. A buffer that is no larger than ordinary heads are is not counted: how many of these
 * there can be follows from the number of connections, and so whoever uses everything up slows down
 * only what is large. Where bytes can wait in the kernel they do (a flow reads less, a response is
 * read when the client has taken the last piece of it); what has to be in memory as a whole fails.
 */
#ifndef KODA_EGRESS_BUDGET_H
#define KODA_EGRESS_BUDGET_H

#include <stdbool.h>
#include <stddef.h>

#define KODA_BUDGET_ORDINARY ((size_t)4096)

struct koda_budget {
	ptrdiff_t left;
	struct koda_budget *whole; /* borrowed: what this is a part of, or NULL */
};

/* May a buffer of that size become one of the other? Always if it shrinks. budget may be NULL. */
bool koda_budget_affords(const struct koda_budget *budget, size_t from, size_t to);
/* It has become one, 0 meaning that there is none. Somebody who could not ask before may overdraw
 * it by that; everybody else then has to wait. */
void koda_budget_move(struct koda_budget *budget, size_t from, size_t to);

/* How large a buffer may become: as large as is wanted, or else of the ordinary size. */
static inline size_t koda_budget_most(const struct koda_budget *budget, size_t from, size_t want)
{
	return koda_budget_affords(budget, from, want) ? want : KODA_BUDGET_ORDINARY;
}

#endif
