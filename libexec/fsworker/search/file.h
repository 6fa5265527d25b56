/* SPDX-License-Identifier: MIT */
/* Opening what a directory has, without leaving it: no link is followed, nothing blocks. */
#ifndef FSWORKER_SEARCH_FILE_H
#define FSWORKER_SEARCH_FILE_H

#include <stdint.h>

/* Opens the regular file called name (one component) for reading. Returns the descriptor, or -1 for
 * anything else. */
int fsworker_file_open(int dir, const char *name);
/* Like fsworker_file_open, for a name that the listing of dir called a regular file. If it was
 * exchanged since, a FIFO or device does not block, and is refused. *ret_size is its size. */
int fsworker_file_open_listed(int dir, const char *name, uint64_t *ret_size);
/* Opens the directory called name (one component). Returns the descriptor, or -1. */
int fsworker_file_open_dir(int dir, const char *name);

#endif
