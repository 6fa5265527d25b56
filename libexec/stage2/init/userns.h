/* SPDX-License-Identifier: MIT */
/* User namespaces. */
#ifndef KODA_STAGE2_INIT_USERNS_H
#define KODA_STAGE2_INIT_USERNS_H

#include <stdbool.h>
#include <sys/types.h>

/* Writes uid_map and gid_map: one user and one group, with the ids they have outside. */
void stage2_userns_map(uid_t uid, gid_t gid);
/* Moves into a copy of the view that belongs to a new user namespace, where the kernel locks every
 * mount to what it covers. Drops the bounding set. */
void stage2_userns_lock_view(uid_t uid, gid_t gid);
/* Tries that; returns false with errno if this process may not. Keeps all capabilities. */
bool stage2_userns_try_lock_view(uid_t uid, gid_t gid);

#endif
