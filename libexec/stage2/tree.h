/* SPDX-License-Identifier: MIT */
/* Detached mount trees: cloning, making, attaching. Whatever fails ends the launcher. */
#ifndef KODA_STAGE2_TREE_H
#define KODA_STAGE2_TREE_H

#include "stage2.h"

#include <stdint.h>

struct mount_attr;

/* The object at path, by a walk that follows no link; -1 with errno. A link at its end is the
 * object itself. */
int koda_tree_open(const char *path);
/* Is the way to path, which is out of our reach, one that no command can open either? */
bool koda_tree_is_shut(const char *path);

/* The tree at the op's path, read-only for the kinds that are; it must still be the object that
 * was planned. */
int koda_tree_clone(const struct koda_op *op);

/* A new file system; options end with a NULL name. */
int koda_tree_make(const char *type, const char *const options[][2], unsigned int attributes,
		   const char *path);
int koda_tree_tmpfs(const char *path, const char *size, const char *mode, unsigned int attributes);
/* From now on mount points may be created in this file system, which was made here. */
void koda_tree_remember(int tree, const char *path);

/* The mount point at path in the view as it is now; what is missing is made, as a directory with
 * mode or a file, but only in file systems made here. -1 with errno. */
int koda_tree_target(const char *path, bool is_dir, mode_t mode);

/* Changes the mount, or all from there on, at fd and path: as the call does, but waits while one is
 * busy, and fails unless the mount says the same afterwards. */
int koda_tree_change(int fd, const char *path, unsigned int flags, struct mount_attr *attr);
/* Adds attributes to the mount at fd and path. */
void koda_tree_set(int fd, const char *path, unsigned int flags, uint64_t set, const char *name);

/* Makes the op's file, with what is missing on the way, in a file system made here. */
void koda_tree_file(const struct koda_op *op);

/* Mounts tree on path, with a mount point as koda_tree_target makes it. */
void koda_tree_attach(int tree, const char *path, bool is_dir, mode_t mode);
void koda_tree_attach_link(int tree, const char *path);
bool koda_tree_is_directory(int fd);

/* The copy-on-write view of a cache: in this slot, or an empty directory (cache.c). */
int koda_cache_tree(const struct koda_op *op, int slot);

/* The nodes of /dev, NULL-terminated (device.c). */
extern const char *const koda_device_nodes[];

/* device.c: what is mounted later is made while the host's /dev is still there. */
void koda_device_prepare(bool has_proc);
void koda_device_make(void);
void koda_device_proc(void);

#endif
