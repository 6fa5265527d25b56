/* SPDX-License-Identifier: MIT */
/* Mounts package caches copy-on-write. */
#ifndef KODA_STAGE2_INIT_CACHE_MOUNT_H
#define KODA_STAGE2_INIT_CACHE_MOUNT_H

#include "wire/op.h"

/* Returns a detached mount of a cache: an overlay whose upper directory is in this slot, or an
 * empty tmpfs if there is no slot or no overlayfs. */
int stage2_cache_mount_tree(const struct koda_op *op, int slot);

#endif
