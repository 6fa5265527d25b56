/* SPDX-License-Identifier: MIT */
/* The order in which the paths of a rule set are planned. */
#ifndef KODA_PLAN_PATH_ORDER_H
#define KODA_PLAN_PATH_ORDER_H

#include "base/buf.h"

#include <koda/rules.h>

struct koda_path_mark {
	struct koda_span path;
	size_t depth;
	bool has_hole; /* an allow_read_within_deny entry lies below */
};

/* Lists the paths of a rule set at which a verdict changes: shallow ones first, paths of one depth
 * in byte order. The list is owned by the caller, the paths are borrowed from the rules. Fails:
 * NOMEM. */
KODA_CHECK int koda_plan_path_order(const struct koda_rules *rules,
				    struct koda_path_mark **ret_list, size_t *ret_count,
				    struct koda_error *err);
/* Returns the parent directory; "/" for "/". */
struct koda_span koda_plan_path_parent(struct koda_span path);
/* Returns the number of components; 0 for "/". */
size_t koda_plan_path_depth(struct koda_span path);
/* Returns the order of two paths, as strcmp does: by depth, then by bytes up to the NUL. */
int koda_plan_path_compare(struct koda_span a, size_t depth_a, struct koda_span b, size_t depth_b);

#endif
