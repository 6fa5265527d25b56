/* SPDX-License-Identifier: MIT */
/*
 * A plan: the exact operations that put a command into its sandbox, each with the rule behind it.
 */
#ifndef KODA_PLAN_PLAN_H
#define KODA_PLAN_PLAN_H

#include "base/buf.h"
#include "wire/op.h"

/* One operation and its reason. */
struct koda_plan_line {
	struct koda_op op; /* texts owned by the plan */
	char *why;         /* owned; the rule or reason, may be "" */
};

struct koda_plan {
	struct koda_plan_line *lines; /* owned */
	size_t count;
	size_t cap;
};

#define KODA_PLAN_INIT                                                                             \
	{                                                                                          \
		0                                                                                  \
	}

/* Appends an operation; texts are copied. why may be NULL. Fails: NOMEM. */
KODA_CHECK int koda_plan_add(struct koda_plan *plan, const struct koda_op *op, const char *why,
			     struct koda_error *err);
void koda_plan_clear(struct koda_plan *plan);

/* Appends the form that the launcher reads. Fails: LIMIT, NOMEM, INTERNAL. */
KODA_CHECK int koda_plan_encode(const struct koda_plan *plan, struct koda_buf *out,
				struct koda_error *err);
/* Appends the form for people: one line per operation. Fails: LIMIT, NOMEM. */
KODA_CHECK int koda_plan_print(const struct koda_plan *plan, struct koda_buf *out,
			       struct koda_error *err);

#define koda_auto_plan __attribute__((cleanup(koda_plan_clear)))

#endif
