/* SPDX-License-Identifier: MIT */
/* Detached mount trees: cloning, making, attaching. Whatever fails ends the launcher. */
#ifndef KODA_STAGE2_TREE_H
#define KODA_STAGE2_TREE_H

#include "stage2.h"

#include <stdint.h>

/* The object at path, by a walk that follows no link; -1 with errno. */
int koda_tree_open(const char *path);

/* The tree at the op's path, read-only for the kinds that are; it must still be the object that
 * was planned. */
int koda_tree_clone(const struct koda_op *op);

/* A new file system; options end with a NULL name. */
int koda_tree_make(const char *type, const char *const options[][2], unsigned int attributes,
		   const char *path);
int koda_tree_tmpfs(const char *path, const char *size, const char *mode, unsigned int attributes);
int koda_tree_overlay(const struct koda_op *op);

/* Adds attributes to the mount at fd and path. */
void koda_tree_set(int fd, const char *path, unsigned int flags, uint64_t set, const char *name);

/* Mounts tree on path. Missing mount points are created, with mode for directories, but only in
 * file systems made here. */
void koda_tree_attach(int tree, const char *path, bool is_dir, mode_t mode);
void koda_tree_attach_link(int tree, const char *path);
bool koda_tree_is_directory(int fd);

/* device.c: what is mounted later is made while the host's /dev is still there. */
void koda_device_prepare(void);
void koda_device_make(void);
void koda_device_proc(void);

#endif
