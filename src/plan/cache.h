/* SPDX-License-Identifier: MIT */
/* T-24. Copy-on-write views of package caches. */
#ifndef KODA_PLAN_CACHE_H
#define KODA_PLAN_CACHE_H

#include "base/set.h"
#include "plan/plan.h"
#include "plan/request.h"

struct koda_cache_copy {
	struct koda_plan *plan;
	const struct koda_plan_request *request;
	struct koda_set *mounted; /* paths that have a mount already */
	struct koda_error *err;
};

/* Plans an overlay on a cache; a tmpfs if there is no directory for copies. Fails: NOMEM. */
KODA_CHECK int koda_plan_cache(const struct koda_cache_copy *copy, struct koda_span cache,
			       const struct koda_fs_stat *look);
/* Plans a READONLY or MASK operation on a path inside a copy. Fails: as fs->look, NOMEM. */
KODA_CHECK int koda_plan_cache_close(const struct koda_cache_copy *copy, struct koda_span path,
				     enum koda_op_kind kind, const char *why);
/* Masks a path that may not exist when the mask is mounted; flags: KODA_OP_DIRECTORY or 0. Fails:
 * NOMEM. */
KODA_CHECK int koda_plan_cache_mask(const struct koda_cache_copy *copy, struct koda_span path,
				    uint32_t flags, const char *why);
/* Returns true if the directory of copies is path or lies below it. It exists when the view is
 * made, even if it is missing now. */
bool koda_plan_cache_is_store(const struct koda_plan_request *request, struct koda_span path);

#endif
