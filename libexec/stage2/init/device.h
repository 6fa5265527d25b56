/* SPDX-License-Identifier: MIT */
/* /dev with harmless nodes only, and /proc. */
#ifndef KODA_STAGE2_INIT_DEVICE_H
#define KODA_STAGE2_INIT_DEVICE_H

#include <stdbool.h>

/* The nodes of /dev, NULL-terminated. */
extern const char *const stage2_device_nodes[];

/* Makes the detached mounts while the host's /dev is still visible. has_proc: clones the /proc of
 * this pid namespace instead of mounting another. */
void stage2_device_prepare(bool has_proc);
/* Mounts /dev. */
void stage2_device_attach(void);
/* Mounts /proc. */
void stage2_device_attach_proc(void);

#endif
