/* SPDX-License-Identifier: MIT */
#ifndef FSWORKER_LOCK_H
#define FSWORKER_LOCK_H

#include "base/macros.h"

/* Forbids for the rest of the process what no file operation needs: sockets, new programs and
 * processes, looking into other processes. Fails: SYS. */
KODA_CHECK int fsworker_lock(struct koda_error *err);

#endif
