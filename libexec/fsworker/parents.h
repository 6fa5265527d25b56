/* SPDX-License-Identifier: MIT */
/* Makes the missing directories above a place that was resolved with FSWORKER_RESOLVE_PARENTS. */
#ifndef FSWORKER_PARENTS_H
#define FSWORKER_PARENTS_H

#include "resolve.h"

/* Each of them must be writable. The place's directory is the last one afterwards. Fails the
 * request. */
bool fsworker_parents_make(struct fsworker_task *task, struct fsworker_place *place);

#endif
