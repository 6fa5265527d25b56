/* SPDX-License-Identifier: MIT */
/*
 * What the landlock backend lets a command change. It refuses more than the rules deny: no name can
 * be created or removed in a directory above a protected file. The kernel does not report Landlock
 * denials. The stderr scanner asks here whether a path was refused.
 */
#ifndef KODA_RUN_STREAM_GRANTS_H
#define KODA_RUN_STREAM_GRANTS_H

#include "base/macros.h"
#include "base/set.h"
#include "plan/plan.h"

struct koda_grants {
	struct koda_set trees; /* below these, names can be created and removed */
	struct koda_set files; /* these can be written */
};

#define KODA_GRANTS_INIT                                                                           \
	{                                                                                          \
		.trees = KODA_SET_INIT(KODA_OP_PLAN_MAX), .files = KODA_SET_INIT(KODA_OP_PLAN_MAX) \
	}

/* Copies the grants of a plan of the landlock backend; other plans have none. Fails: NOMEM,
 * LIMIT. */
KODA_CHECK int koda_grants_take(struct koda_grants *grants, const struct koda_plan *plan,
				struct koda_error *err);
void koda_grants_clear(struct koda_grants *grants);

/* Tells whether Landlock refuses a change at path. moves: the call creates, removes or renames the
 * path instead of writing to it. False if there are no grants at all. */
bool koda_grants_refuse(const struct koda_grants *grants, const char *path, bool moves);

#endif
