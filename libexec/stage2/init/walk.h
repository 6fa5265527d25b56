/* SPDX-License-Identifier: MIT */
/* Walks to objects of the view without following links. */
#ifndef KODA_STAGE2_INIT_WALK_H
#define KODA_STAGE2_INIT_WALK_H

#include <stdbool.h>

/* Opens the object at path (O_PATH); a link at its end is the object itself. Returns -1 with errno;
 * ELOOP: a link on the way. */
int stage2_walk_open(const char *path);
/* Returns true if the way to path, which gave EACCES, is closed by a directory of another user, so
 * that no command can open it either. */
bool stage2_walk_is_shut(const char *path);

#endif
