/* SPDX-License-Identifier: MIT */
/* The command's control group, made and removed by the guardian. */
#ifndef KODA_STAGE2_GUARDIAN_CGROUP_H
#define KODA_STAGE2_GUARDIAN_CGROUP_H

#include "plan.h"

#include <stdbool.h>
#include <sys/types.h>

/* Makes the control group of the plan, sets its limits and moves init into it. Returns false if the
 * plan has none or it cannot be made. */
bool stage2_cgroup_open(const struct plan *plan, pid_t init);
/* Moves another process into the control group. */
void stage2_cgroup_add(pid_t pid);
/* Reports to the runner which limit was reached. Returns true if the kernel's OOM killer ended the
 * group. */
bool stage2_cgroup_report(void);
/* Kills what is left in the control group and removes it. */
void stage2_cgroup_close(void);

#endif
