/* SPDX-License-Identifier: MIT */
/* Detached mount trees: cloning, making, attaching. Every failure ends the launcher. */
#ifndef KODA_STAGE2_INIT_TREE_H
#define KODA_STAGE2_INIT_TREE_H

#include "wire/op.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct mount_attr;

/* Clones the tree at the op's path, read-only for the kinds that are. Fails unless it is still the
 * object that was planned. */
int stage2_tree_clone(const struct koda_op *op);
/* Clones the tree that fd is open at, for op. fd: -1 with errno fails. Closes fd. */
int stage2_tree_clone_fd(const struct koda_op *op, int fd);

/* Makes a new file system; options end with a NULL name. */
int stage2_tree_make(const char *type, const char *const options[][2], unsigned int attributes,
		     const char *path);
int stage2_tree_tmpfs(const char *path, const char *size, const char *mode,
		      unsigned int attributes);
/* Remembers a file system that was made here: mount points may be created in it. */
void stage2_tree_remember(int tree, const char *path);

/* Opens the mount point at path in the current view. What is missing is made, as directories with
 * mode or an empty file, but only in file systems made here. Returns -1 with errno. */
int stage2_tree_target(const char *path, bool is_dir, mode_t mode);

/* Calls mount_setattr, again while the mount is busy (EBUSY), and reads the attributes back.
 * Returns -1 with errno; ENOTSUP: they did not take. */
int stage2_tree_change(int fd, const char *path, unsigned int flags, struct mount_attr *attr);
/* Adds attributes to the mount at fd and path. */
void stage2_tree_set(int fd, const char *path, unsigned int flags, uint64_t set, const char *name);

/* Makes the op's file, with missing parents, in a file system made here. */
void stage2_tree_file(const struct koda_op *op);

/* Mounts tree on path, with a mount point as stage2_tree_target makes it. */
void stage2_tree_attach(int tree, const char *path, bool is_dir, mode_t mode);
/* Mounts tree on path, from a kept mount (mount_point.h) if one leads there. */
void stage2_tree_mount(int tree, const char *path, mode_t mode);
/* Mounts tree on the symlink at path itself. */
void stage2_tree_attach_link(int tree, const char *path);
bool stage2_tree_is_directory(int fd);

#endif
