/* SPDX-License-Identifier: MIT */
/* STAT, of the name itself or of what a link there leads to. */
#include "judge.h"
#include "ops.h"
#include "resolve.h"

#include <errno.h>
#include <unistd.h>

static void fill(struct fsworker_task *task, const struct stat *st)
{
	const uint64_t numbers[KODA_FS_NUMBERS] = {
		(uint64_t)st->st_size,
		st->st_mode,
		(uint64_t)st->st_mtim.tv_sec * 1000000000U + (uint64_t)st->st_mtim.tv_nsec,
		st->st_nlink,
		st->st_uid,
		st->st_gid,
	};

	memcpy(task->reply.n, numbers, sizeof(numbers));
}

/* Makes the target of a link the reply's path. */
static void tell_target(struct fsworker_task *task, const struct fsworker_place *place)
{
	char target[KODA_PATH_MAX + 1];
	ssize_t len = readlinkat(place->dir, place->name, target, sizeof(target));

	if (len < 0)
		(void)fsworker_task_fail_errno(task, errno);
	else
		fsworker_task_set_path(task, (struct koda_span){ target, (size_t)len });
}

void fsworker_stat(struct fsworker_task *task)
{
	fsworker_auto_place struct fsworker_place place = FSWORKER_PLACE_INIT;
	unsigned int how = fsworker_task_has(task, KODA_FS_FOLLOW) ? FSWORKER_RESOLVE_FOLLOW
								   : FSWORKER_RESOLVE_LAST;

	if (!fsworker_resolve(task, task->request.text[0], how, &place) ||
	    !fsworker_judge_read(task, fsworker_resolve_path(&place)) ||
	    !fsworker_resolve_exists(task, &place))
		return;
	fill(task, &place.st);
	if (S_ISLNK(place.st.st_mode))
		tell_target(task, &place);
}
