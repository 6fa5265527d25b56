/* SPDX-License-Identifier: MIT */
/* The mount view of the command. */
#ifndef KODA_STAGE2_INIT_VIEW_H
#define KODA_STAGE2_INIT_VIEW_H

#include "init/orders.h"
#include "plan.h"

/* Does what no plan changes. has_proc: see stage2_device_prepare. */
void stage2_view_prepare(bool has_proc);
/* Does what needs the plan alone. */
void stage2_view_begin(const struct plan *plan);
/* Does the rest, once the guardian has reserved names and taken slots. */
void stage2_view_build(const struct plan *plan, const struct init_orders *orders);

#endif
