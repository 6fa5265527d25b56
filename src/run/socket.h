/* SPDX-License-Identifier: MIT */
/* The host's Unix sockets, as places in the file system. */
#ifndef KODA_RUN_SOCKET_H
#define KODA_RUN_SOCKET_H

#include "base/macros.h"
#include "base/str.h"

/* Appends where the sockets are that some process of the host has bound to a path, of every type;
 * links resolved, each once. A socket that is not where its name says (the name is relative, or the
 * socket was moved) or that has further names is looked for: in the working directories of
 * processes, in its directory, and at last, up to a bound, in the project. Fails: SYS if the kernel
 * does not tell, LIMIT, NOMEM. */
KODA_CHECK int koda_socket_find(const char *root, struct koda_strv *paths, struct koda_error *err);

#endif
