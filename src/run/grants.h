/* SPDX-License-Identifier: MIT */
/*
 * What Landlock alone lets a command change: more is refused than the rules deny, as nothing can be
 * made or removed in a directory that leads to something protected. The kernel tells nobody of a
 * refusal, so who reads error messages asks here whether there was one to tell of.
 */
#ifndef KODA_RUN_GRANTS_H
#define KODA_RUN_GRANTS_H

#include "base/macros.h"
#include "base/set.h"
#include "plan/plan.h"

struct koda_grants {
	struct koda_set trees; /* below these names can be made and removed */
	struct koda_set files; /* these can be written */
};

#define KODA_GRANTS_INIT                                                                           \
	{                                                                                          \
		.trees = KODA_SET_INIT(KODA_OP_PLAN_MAX), .files = KODA_SET_INIT(KODA_OP_PLAN_MAX) \
	}

/* Those of a plan without namespaces; none of any other. Fails: NOMEM, LIMIT. */
KODA_CHECK int koda_grants_take(struct koda_grants *grants, const struct koda_plan *plan,
				struct koda_error *err);
void koda_grants_clear(struct koda_grants *grants);

/* Is changing what is at path refused? moves: it was to be made, removed or renamed, and not only
 * written. False if there are no grants at all. */
bool koda_grants_refuse(const struct koda_grants *grants, const char *path, bool moves);

#endif
