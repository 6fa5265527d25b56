/* SPDX-License-Identifier: MIT */
/* Opening what a place names, without side effects on what is no file or directory. */
#ifndef FSWORKER_OPEN_H
#define FSWORKER_OPEN_H

#include "resolve.h"

/* Opens an existing regular file with these flags (O_RDONLY, O_RDWR ...). Directories, FIFOs,
 * sockets, devices and files of the kernel are refused, and not opened. place->st becomes that of
 * the open file. Fails the request. */
bool fsworker_open_file(struct fsworker_task *task, struct fsworker_place *place, int flags,
			int *ret_fd);
/* Opens an existing directory for reading. Fails the request. */
bool fsworker_open_dir(struct fsworker_task *task, const struct fsworker_place *place, int *ret_fd);

#endif
