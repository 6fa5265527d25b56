/* SPDX-License-Identifier: MIT */
/* Directories that may be a project root. */
#ifndef KODA_POLICY_ROOT_H
#define KODA_POLICY_ROOT_H

#include "base/macros.h"

#include <koda/rules.h>

/* Refuses a root that would expose the machine: "/", system directories, shared temporary
 * directories, $HOME or anything above it, and directories that contain the state of koda.
 * place->root is in normal form with links resolved. Fails: DENIED with the reason, POLICY. */
KODA_CHECK int koda_root_check(const struct koda_place *place, struct koda_error *err);

#endif
