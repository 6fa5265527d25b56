/* SPDX-License-Identifier: MIT */
/* Which directories may be a project root at all. */
#ifndef KODA_POLICY_ROOT_H
#define KODA_POLICY_ROOT_H

#include "base/macros.h"

#include <koda/rules.h>

/* A root that would hand over the machine is refused: "/", system directories, shared temporary
 * directories, $HOME or anything above it, and whatever contains koda's own state. place->root
 * is in normal form with links resolved. Fails: DENIED with the reason, POLICY. */
KODA_CHECK int koda_root_check(const struct koda_place *place, struct koda_error *err);

#endif
