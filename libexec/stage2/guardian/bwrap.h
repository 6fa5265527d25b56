/* SPDX-License-Identifier: MIT */
/* The guardian of the bwrap backend: bubblewrap makes the namespaces. */
#ifndef KODA_STAGE2_GUARDIAN_BWRAP_H
#define KODA_STAGE2_GUARDIAN_BWRAP_H

#include <stdbool.h>

/* Runs the guardian from start to the end of the command. open_view: bubblewrap makes the view from
 * the start, because the first process inside is not expected to be allowed to mount. */
void stage2_bwrap_guard(bool open_view);
/* Reaps bubblewrap, if it is still running, and orphans that have become the guardian's. */
void stage2_bwrap_reap(void);

#endif
