/* SPDX-License-Identifier: MIT */
/* The self-check of the process that becomes the command. */
#ifndef KODA_STAGE2_COMMAND_CHECK_H
#define KODA_STAGE2_COMMAND_CHECK_H

#include "init/orders.h"
#include "plan.h"

/* Checks capabilities, filter, namespaces and denied paths. Fails on any difference. */
void stage2_check_locked(const struct plan *plan);
/* Checks what holds without namespaces. bounded: the bounding set was dropped. */
void stage2_check_landlock(const struct plan *plan, bool bounded);
/* Reads the names of the calling process's namespaces; the guardian sends them to init. */
void stage2_check_read_outside(struct namespace_name ret_names[STAGE2_NAMESPACES]);
/* Remembers the guardian's namespaces: the command must not be in them. */
void stage2_check_use_outside(const struct namespace_name names[STAGE2_NAMESPACES]);
/* Says that the view is not locked: that no socket can be made in it is checked instead. */
void stage2_check_open_view(void);
/* Remembers the namespaces in which the view was built: the command must not be in them either. */
void stage2_check_remember_view(void);

#endif
