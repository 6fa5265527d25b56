/* SPDX-License-Identifier: MIT */
/*
 * T-30. A command of another sandbox can change the mode of a directory while the planner examines
 * it. Paths found while it was unreadable are protected by one mount on the directory; paths found
 * while it was readable have mounts of their own, and writable anchors above them. A plan with both
 * protects neither, so it is refused.
 */
#include "plan/closed_dirs.h"

#include "base/error.h"
#include "base/set.h"
#include "plan/path_order.h"

#include <errno.h>

int koda_plan_check_closed_dirs(const struct koda_set *closed, const struct koda_set *mounted,
				struct koda_error *err)
{
	for (size_t i = 0; closed->count > 0 && i < mounted->count; i++) {
		struct koda_span up = koda_set_get(mounted, i);

		while (up.len > 1) {
			up = koda_plan_path_parent(up);
			if (koda_set_find(closed, up) != KODA_SET_NONE)
				return koda_fail_at(err, KODA_E_SYS, EAGAIN,
						    koda_set_get(mounted, i).ptr,
						    "a directory on the way was closed or opened "
						    "meanwhile");
		}
	}
	return KODA_OK;
}
