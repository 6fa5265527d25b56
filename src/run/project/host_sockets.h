/* SPDX-License-Identifier: MIT */
/* T-17. Finds the paths of the host's Unix sockets. */
#ifndef KODA_RUN_PROJECT_HOST_SOCKETS_H
#define KODA_RUN_PROJECT_HOST_SOCKETS_H

#include "base/macros.h"
#include "base/strv.h"

#include <stdbool.h>

/* How many entries are read in search of sockets that were moved. */
struct koda_host_sockets_bounds {
	size_t dir;  /* in one directory */
	size_t tree; /* in the project */
};

#define KODA_HOST_SOCKETS_BOUNDS                                                                   \
	{                                                                                          \
		.dir = 100000, .tree = 2000000                                                     \
	}

/* Appends the paths of all sockets that processes of the host have bound to a path, each once, with
 * links resolved. A socket that is not at the path it was bound to (a relative path, or it was
 * moved), or that has hard links, is searched for: in the working directories of processes, in the
 * directory of its path, and last in the project. If the kernel reports no inodes, every socket in
 * the project counts as one of the host's. closed (may be NULL) gets directories of the user in the
 * project that could not be opened. *ret_unsure is set if the search stopped at its bounds. Fails:
 * SYS if the kernel reports no sockets, LIMIT, DENIED, NOMEM. */
KODA_CHECK int koda_host_sockets_find(const char *root,
				      const struct koda_host_sockets_bounds *bounds,
				      struct koda_strv *paths, struct koda_strv *closed,
				      bool *ret_unsure, struct koda_error *err);

#endif
