/* SPDX-License-Identifier: MIT */
/* Slots for the copy-on-write layers of package caches, locked until the guardian ends. */
#ifndef KODA_STAGE2_GUARDIAN_CACHE_SLOT_H
#define KODA_STAGE2_GUARDIAN_CACHE_SLOT_H

#include "init/orders.h"
#include "plan.h"

/* Locks a slot for each cache of the plan and writes its number to ret_orders->slot. */
void stage2_cache_slot_take(const struct plan *plan, struct init_orders *ret_orders);
/* Removes or opens the directory work/work, which overlayfs leaves with mode 0, and unlocks the
 * slots. */
void stage2_cache_slot_undo(void);

#endif
