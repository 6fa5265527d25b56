/* SPDX-License-Identifier: MIT */
/*
 * T-30. A command that runs beside us can open and close a directory while we look into it. What
 * was seen closed is protected with all of the directory; what was seen open has mounts of its own,
 * and writable ones that lead to it, above or below that. Neither is worth anything beside the
 * other.
 */
#include "plan/plan.h"

#include "base/diag.h"
#include "base/set.h"

#include <errno.h>

int koda_plan_check_shut(const struct koda_set *shut, const struct koda_set *mounted,
			 struct koda_error *err)
{
	for (size_t i = 0; shut->count > 0 && i < mounted->count; i++) {
		struct koda_span up = koda_set_get(mounted, i);

		while (up.len > 1) {
			up = koda_plan_parent(up);
			if (koda_set_find(shut, up) != KODA_SET_NONE)
				return koda_fail_at(err, KODA_E_SYS, EAGAIN,
						    koda_set_get(mounted, i).ptr,
						    "a directory on the way was closed or opened "
						    "meanwhile");
		}
	}
	return KODA_OK;
}
