/* SPDX-License-Identifier: MIT */
/* Mount points by short ways: a name in a directory that is still open. */
#ifndef KODA_STAGE2_INIT_MOUNT_POINT_H
#define KODA_STAGE2_INIT_MOUNT_POINT_H

#include <stdbool.h>

/* Clones the object at path, which is not "/", with these flags of open_tree and without following
 * any link. Returns -1 with errno. The parent directory stays open for the next call until
 * stage2_mount_point_forget, which must come before anything is mounted. */
int stage2_mount_point_clone(const char *path, unsigned int flags);
void stage2_mount_point_forget(void);
/* Mounts tree on path from a mount that was kept. Returns false if none leads to path. */
bool stage2_mount_point_mount(int tree, const char *path);
/* Takes over a tree of the host that was mounted on path, for mounts below it. Nothing is made in a
 * tree of the host, so every mount point exists. */
void stage2_mount_point_keep(int tree, const char *path);
/* Closes the kept mounts that do not lead to path (NULL: all). Must come before something is
 * mounted on path. */
void stage2_mount_point_leave(const char *path);

#endif
