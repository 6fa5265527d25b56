/* SPDX-License-Identifier: MIT */
/* Makes the worker ready: reads the set-up record, opens the roots, gives up what is not needed. */
#ifndef FSWORKER_START_H
#define FSWORKER_START_H

#include "fsworker.h"

/* Fails: INVALID for a record that is malformed or not sealed, SYS, NOMEM. */
KODA_CHECK int fsworker_start(struct fsworker *worker, char *const *environment,
			      struct koda_error *err);

#endif
