/* SPDX-License-Identifier: MIT */
/* Removes directory trees that commands made. */
#ifndef KODA_STAGE2_GUARDIAN_REMOVE_H
#define KODA_STAGE2_GUARDIAN_REMOVE_H

#include <stdint.h>

/* Opens a directory, even if its mode does not let its owner. Returns -1 if it is none. */
int stage2_remove_open(int at, const char *name);
/* Removes everything in the directory until until_ms (UINT64_MAX: no limit). Closes fd. */
void stage2_remove_below(int fd, uint64_t until_ms);

#endif
