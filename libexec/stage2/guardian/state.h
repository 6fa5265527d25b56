/* SPDX-License-Identifier: MIT */
/* Directories of koda's own state, which the floor hides from every command. */
#ifndef KODA_STAGE2_GUARDIAN_STATE_H
#define KODA_STAGE2_GUARDIAN_STATE_H

#include <stdbool.h>

/* Opens a directory of koda's state. Makes it, and its parents, if it is missing. Returns -1 with
 * errno. */
int stage2_state_open(const char *path);
/* Returns true if only this user can enter the directory. */
bool stage2_state_is_private(int fd);

#endif
