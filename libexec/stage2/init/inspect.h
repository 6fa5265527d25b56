/* SPDX-License-Identifier: MIT */
/* Compares a view that bubblewrap has made with the plan. */
#ifndef KODA_STAGE2_INIT_INSPECT_H
#define KODA_STAGE2_INIT_INSPECT_H

#include "plan.h"

/* Fails unless every mount of the plan is as planned and all other mounts are read-only. */
void stage2_inspect_view(const struct plan *plan);
/* Fails unless /proc is a proc file system of this pid namespace. */
void stage2_inspect_proc(void);

#endif
