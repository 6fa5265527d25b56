/* SPDX-License-Identifier: MIT */
/* MKDIR. */
#include "judge.h"
#include "ops.h"
#include "parents.h"

#include <errno.h>

void fsworker_mkdir(struct fsworker_task *task)
{
	fsworker_auto_place struct fsworker_place place = FSWORKER_PLACE_INIT;
	bool parents = fsworker_task_has(task, KODA_FS_PARENTS);
	unsigned int how = parents ? FSWORKER_RESOLVE_PARENTS : FSWORKER_RESOLVE_LAST;

	if (!fsworker_resolve(task, task->request.text[0], how, &place))
		return;
	fsworker_task_set_path(task, fsworker_resolve_path(&place));
	/* As with mkdir -p, a directory that is there is no mistake. */
	if (place.exists && parents && S_ISDIR(place.st.st_mode) &&
	    fsworker_judge_read(task, fsworker_resolve_path(&place)))
		return;
	if (!fsworker_judge_write(task, fsworker_resolve_path(&place)) ||
	    !fsworker_parents_make(task, &place))
		return;
	if (place.exists)
		(void)fsworker_task_fail_errno(task, EEXIST);
	else if (mkdirat(place.dir, place.name, 0777 & ~task->worker->umask) < 0)
		(void)fsworker_task_fail_errno(task, errno);
}
