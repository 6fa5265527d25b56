/* SPDX-License-Identifier: MIT */
/* Where a command's temporary directory is, if it has no /tmp of its own. */
#ifndef KODA_RUN_SCRATCH_H
#define KODA_RUN_SCRATCH_H

#include "base/macros.h"

#include <koda/error.h>

/* A name below the host's /tmp that nobody can guess; owned by the caller. The launcher makes it.
 * Fails: SYS, NOMEM. */
KODA_CHECK int koda_scratch_name(char **ret_path, struct koda_error *err);

#endif
