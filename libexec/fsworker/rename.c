/* SPDX-License-Identifier: MIT */
/* RENAME: a name gets to another directory or becomes another name. Links are not followed. */
#include "judge.h"
#include "ops.h"
#include "resolve.h"

#include <errno.h>
#include <stdio.h>

static bool resolve(struct fsworker_task *task, size_t text, struct fsworker_place *place)
{
	return fsworker_resolve(task, task->request.text[text], FSWORKER_RESOLVE_LAST, place) &&
	       fsworker_resolve_is_inside(task, place) &&
	       fsworker_judge_replace(task, fsworker_resolve_path(place));
}

void fsworker_rename(struct fsworker_task *task)
{
	fsworker_auto_place struct fsworker_place from = FSWORKER_PLACE_INIT;
	fsworker_auto_place struct fsworker_place to = FSWORKER_PLACE_INIT;
	unsigned int flags = fsworker_task_has(task, KODA_FS_NEW) ? RENAME_NOREPLACE : 0;

	if (!resolve(task, 0, &from) || !fsworker_resolve_exists(task, &from) ||
	    !resolve(task, 1, &to))
		return;
	fsworker_task_set_path(task, fsworker_resolve_path(&to));
	if (renameat2(from.dir, from.name, to.dir, to.name, flags) < 0)
		(void)fsworker_task_fail_errno(task, errno);
}
