/* SPDX-License-Identifier: MIT */
/* One placeholder: how it is made, recognised and removed. handover.c decides when it is removed.
 */
#ifndef KODA_STAGE2_GUARDIAN_PLACEHOLDER_H
#define KODA_STAGE2_GUARDIAN_PLACEHOLDER_H

#include "wire/op.h"

#include <stdbool.h>

/* Makes the placeholder of op at the name in the directory. Returns -1 with errno; EEXIST:
 * something has the name, which may be a placeholder of another run. The umask must be 0. */
int stage2_placeholder_make(int parent, const char *name, const struct koda_op *op);
/* Returns true if a run would have made what has the name. */
bool stage2_placeholder_is(int parent, const char *name, const struct koda_op *op);
/* Removes the placeholder if it is still one. A directory with foreign entries stays. The parent
 * directory must be locked exclusively. */
void stage2_placeholder_remove(int parent, const char *name, const struct koda_op *op);

#endif
