/* SPDX-License-Identifier: MIT */
#include "parents.h"

#include "base/fd.h"
#include "judge.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

/* Makes the directory that the place names, and goes into it. */
static bool make_one(struct fsworker_task *task, struct fsworker_place *place)
{
	int next;

	if (!fsworker_judge_write(task, (struct koda_span){ place->path, place->rest }))
		return false;
	if (mkdirat(place->dir, place->name, 0777 & ~task->worker->umask) < 0 && errno != EEXIST)
		return fsworker_task_fail_errno(task, errno);
	next = openat(place->dir, place->name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (next < 0)
		return fsworker_task_fail_errno(task, errno);
	if (!place->is_borrowed)
		koda_fd_close(&place->dir);
	place->dir = next;
	place->is_borrowed = false;
	return true;
}

bool fsworker_parents_make(struct fsworker_task *task, struct fsworker_place *place)
{
	while (place->rest > 0 && place->rest < place->len) {
		const char *name = place->path + place->rest + 1;
		size_t len = strcspn(name, "/");

		if (!make_one(task, place))
			return false;
		memcpy(place->name, name, len);
		place->name[len] = '\0';
		place->rest += 1 + len;
	}
	if (place->rest == 0)
		return true;
	place->exists = fstatat(place->dir, place->name, &place->st, AT_SYMLINK_NOFOLLOW) == 0;
	return place->exists || errno == ENOENT || fsworker_task_fail_errno(task, errno);
}
