/* SPDX-License-Identifier: MIT */
/*
 * T-83. Memory for the buffers of one tenant's connections, and of all connections. Buffers up to
 * the size of ordinary heads are not counted, because the limit of connections bounds them. So a
 * tenant that uses up its budget slows down large transfers only. Bytes that can wait in the kernel
 * do; what must be in memory as a whole is refused.
 */
#ifndef KODA_EGRESS_IO_BUDGET_H
#define KODA_EGRESS_IO_BUDGET_H

#include "base/macros.h"

#include <stdbool.h>
#include <stddef.h>

#define EGRESS_BUDGET_ORDINARY ((size_t)4096)

/* Returns how much of a resource one tenant may have while used of all is in use: most, until half
 * of all is used; then 1/32 of all until three quarters, 1/512 until seven eighths, and 1/8192 of
 * the rest, but at least one. So two tenants can use up a half, but another 8 are needed for the
 * next quarter, 64 for the eighth after it, and 1024 for the last one. */
size_t egress_budget_share(size_t all, size_t used, size_t most);

struct egress_budget {
	size_t used;
	size_t most;                 /* limit, while enough of the whole is free */
	struct egress_budget *whole; /* borrowed: the budget that this is a part of, or NULL */
};

/* Returns whether a buffer may change its size. Shrinking is always allowed. budget may be NULL. */
bool egress_budget_affords(const struct egress_budget *budget, size_t from, size_t to);
/* Records that a buffer changed its size; 0 is no buffer. It may exceed the limit, by callers that
 * know the size only afterwards; others have to wait then. */
void egress_budget_move(struct egress_budget *budget, size_t from, size_t to);

/* Returns the size that a buffer may grow to: want, or the ordinary size. */
static inline size_t egress_budget_most(const struct egress_budget *budget, size_t from,
					size_t want)
{
	return egress_budget_affords(budget, from, want) ? want : EGRESS_BUDGET_ORDINARY;
}

#endif
