/* SPDX-License-Identifier: MIT */
/* Finds a directory in which this process may make a cgroup for a command. */
#ifndef KODA_RUN_BACKEND_CGROUP_H
#define KODA_RUN_BACKEND_CGROUP_H

#include "base/macros.h"

struct koda_error;

#define KODA_CGROUP_MOUNT "/sys/fs/cgroup"
#define KODA_CGROUP_SELF  "/proc/self/cgroup"

/* Returns the nearest directory of the version 2 hierarchy at mount, from the group in the file
 * self upwards, that delegates memory and pids to its children and in which the user may create a
 * group. NULL if there is none. Owned by the caller. Fails: NOMEM. */
KODA_CHECK int koda_cgroup_find(const char *mount, const char *self, char **ret_dir,
				struct koda_error *err);

#endif
