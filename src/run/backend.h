/* SPDX-License-Identifier: MIT */
/*
 * A way to carry out a plan. Every backend gets the same plan; what it cannot hold it says, clause
 * by clause, and nothing it cannot hold is left out silently.
 */
#ifndef KODA_RUN_BACKEND_H
#define KODA_RUN_BACKEND_H

#include "base/proc.h"
#include "plan/plan.h"

#include <koda/clause.h>

/* The descriptors a command's launcher gets, by the number it has there. */
struct koda_launch {
	const struct koda_fdmap *give; /* without the plan, which is the backend's to hand over */
	size_t count;
};

struct koda_backend {
	const char *name;
	/* What each clause gets from this backend on this machine; looks, changes nothing. */
	void (*judge)(struct koda_findings *ret_findings);
	/* Starts the launcher. Fails: SYS, LIMIT, NOMEM. */
	int (*launch)(const struct koda_plan *plan, const struct koda_launch *launch,
		      struct koda_proc *ret_proc, struct koda_error *err);
};

extern const struct koda_backend koda_backend_native;

#endif
