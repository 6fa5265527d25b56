/* SPDX-License-Identifier: MIT */
/* T-100. What is judged is the path that the walk has reached, and what is used is its descriptor.
 */
#include "judge.h"

static bool judge(struct fsworker_task *task, struct koda_verdict verdict, struct koda_span path)
{
	return verdict.answer == KODA_ALLOW || fsworker_task_deny(task, &verdict, path);
}

bool fsworker_judge_read(struct fsworker_task *task, struct koda_span path)
{
	return judge(task, koda_path_verdict_read(&task->worker->rules, path), path);
}

bool fsworker_judge_write(struct fsworker_task *task, struct koda_span path)
{
	return judge(task, koda_path_verdict_write(&task->worker->rules, path), path);
}

bool fsworker_judge_replace(struct fsworker_task *task, struct koda_span path)
{
	return judge(task, koda_path_verdict_replace(&task->worker->rules, path), path);
}
