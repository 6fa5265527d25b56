/* SPDX-License-Identifier: MIT */
/* Unreadable directories that the plan protects as a whole. */
#ifndef KODA_PLAN_CLOSED_DIRS_H
#define KODA_PLAN_CLOSED_DIRS_H

#include "base/set.h"

/* Checks that no mount lies below a directory that was unreadable when planned and therefore became
 * one read-only mount. Fails: SYS (EAGAIN) if one does. */
KODA_CHECK int koda_plan_check_closed_dirs(const struct koda_set *closed,
					   const struct koda_set *mounted, struct koda_error *err);

#endif
