/* SPDX-License-Identifier: MIT */
/* Where a text that is not in a file nearly is, for a model that has misquoted it. */
#ifndef FSWORKER_NEAR_H
#define FSWORKER_NEAR_H

#include "task.h"

struct fsworker_near {
	uint64_t line; /* from 1; 0: nothing is like it */
	struct koda_span text;
};

/* Finds the place whose lines are most like those of wanted, and returns the first line there that
 * differs. Ends early with the request. */
struct fsworker_near fsworker_near_find(struct fsworker_task *task, struct koda_span content,
					struct koda_span wanted);

#endif
