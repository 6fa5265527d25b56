/* SPDX-License-Identifier: MIT */
/* The host's Unix sockets, as places in the file system. */
#ifndef KODA_RUN_SOCKET_H
#define KODA_RUN_SOCKET_H

#include "base/macros.h"
#include "base/str.h"

#include <stdbool.h>

/* Entries that are read in search of sockets that are not where they should be. */
struct koda_socket_bounds {
	size_t dir;  /* of one directory */
	size_t tree; /* of a project */
};

#define KODA_SOCKET_BOUNDS                                                                         \
	{                                                                                          \
		.dir = 100000, .tree = 2000000                                                     \
	}

/* Appends where the sockets are that some process of the host has bound to a path, of every type;
 * links resolved, each once. A socket that is not where its name says (the name is relative, or the
 * socket was moved) or that has further names is looked for: in the working directories of
 * processes, in its directory, and at last in the project. Where the kernel tells names only, every
 * socket of the project is one of the host's. closed (may be NULL) gets the user's own directories
 * of the project that could not be looked into. *ret_unsure if the search was given up at its
 * bounds: a socket may be where nobody has looked. Fails: SYS if the kernel does not tell, LIMIT,
 * DENIED, NOMEM. */
KODA_CHECK int koda_socket_find(const char *root, const struct koda_socket_bounds *bounds,
				struct koda_strv *paths, struct koda_strv *closed, bool *ret_unsure,
				struct koda_error *err);

#endif
