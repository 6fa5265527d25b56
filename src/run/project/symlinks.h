/* SPDX-License-Identifier: MIT */
/* T-12. Protected names that are symbolic links. */
#ifndef KODA_RUN_PROJECT_SYMLINKS_H
#define KODA_RUN_PROJECT_SYMLINKS_H

#include "run/project/site.h"

/* Notes where the links lead that protected names are, so that the targets are protected too.
 * Fails: SYS, NOMEM. */
KODA_CHECK int koda_symlinks_note(struct koda_site *site, struct koda_error *err);

#endif
