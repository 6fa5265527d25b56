/* SPDX-License-Identifier: MIT */
/* Control groups: where this process may make one of its own for a command. */
#ifndef KODA_RUN_CGROUP_H
#define KODA_RUN_CGROUP_H

#include "base/macros.h"

struct koda_error;

#define KODA_CGROUP_MOUNT "/sys/fs/cgroup"
#define KODA_CGROUP_SELF  "/proc/self/cgroup"

/* The nearest directory of the version 2 hierarchy at mount, from the group that the file self
 * names upwards, that hands memory and pids on to its children and in which the user may make
 * one. NULL if there is none. Owned by the caller. Fails: NOMEM. */
KODA_CHECK int koda_cgroup_find(const char *mount, const char *self, char **ret_dir,
				struct koda_error *err);

#endif
