/* SPDX-License-Identifier: MIT */
/* The rules' verdict on a path. A denial fails the request, with the rule that decided. */
#ifndef FSWORKER_JUDGE_H
#define FSWORKER_JUDGE_H

#include "task.h"

bool fsworker_judge_read(struct fsworker_task *task, struct koda_span path);
bool fsworker_judge_write(struct fsworker_task *task, struct koda_span path);
/* Judges that the directory entry changes: it is made, replaced, renamed or removed, with all that
 * is below it. */
bool fsworker_judge_replace(struct fsworker_task *task, struct koda_span path);

#endif
