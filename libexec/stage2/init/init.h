/* SPDX-License-Identifier: MIT */
/* Pid 1 of the native backend's pid namespace, and the part of it that all views share. */
#ifndef KODA_STAGE2_INIT_INIT_H
#define KODA_STAGE2_INIT_INIT_H

#include "plan.h"

#include <sys/types.h>

/* Runs the guardian's clone as init. A byte on guardian_fd says that the plan is sealed, a struct
 * init_orders that the guardian has done its part of it. */
_Noreturn void stage2_init_main(int guardian_fd, uid_t user, gid_t group);
/* Opens the terminal, drops privileges, starts the command and serves until it has ended. The view
 * is finished. listener: from stage2_net_listen; in_cgroup: the kernel enforces the limits, so init
 * does not watch them. */
_Noreturn void stage2_init_run(const struct plan *plan, int listener, uid_t user, bool in_cgroup);

#endif
