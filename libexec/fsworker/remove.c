/* SPDX-License-Identifier: MIT */
/* REMOVE: a name, which may be a link; with RECURSIVE a directory with all that is below it. */
#include "judge.h"
#include "ops.h"
#include "resolve.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

/* Directories that are open, one in the other. */
#define DEPTH_MAX 256

struct level {
	DIR *dir; /* owned */
	char name[KODA_NAME_MAX + 1];
};

struct removal {
	struct fsworker_task *task;
	struct level *levels;
	size_t depth;
	bool has_removed;
};

/* Enters a directory, which must not be a link. */
static bool enter(struct removal *removal, int at, const char *name)
{
	struct level *level = &removal->levels[removal->depth];
	int fd;

	if (removal->depth == DEPTH_MAX)
		return fsworker_task_fail(removal->task, KODA_FS_STATUS_TOO_LARGE,
					  "the directories are nested too deeply");
	fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	level->dir = fd < 0 ? NULL : fdopendir(fd);
	if (!level->dir) {
		int error = errno;

		if (fd >= 0)
			(void)close(fd);
		return fsworker_task_fail_errno(removal->task, error);
	}
	memcpy(level->name, name, strlen(name) + 1);
	removal->depth++;
	return true;
}

static bool remove_name(struct removal *removal, int at, const char *name, int flags)
{
	if (unlinkat(at, name, flags) < 0)
		return fsworker_task_fail_errno(removal->task, errno);
	removal->has_removed = true;
	return true;
}

/* Leaves the innermost directory, which is empty by now, and removes it from the one around it. */
static bool leave(struct removal *removal, int around)
{
	struct level *level = &removal->levels[--removal->depth];

	(void)closedir(level->dir);
	return remove_name(removal, around, level->name, AT_REMOVEDIR);
}

static bool take_entry(struct removal *removal, const struct dirent *entry, int at)
{
	struct stat st;

	if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
		return true;
	if (!fsworker_task_goes_on(removal->task))
		return false;
	if (fstatat(at, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT || fsworker_task_fail_errno(removal->task, errno);
	return S_ISDIR(st.st_mode) ? enter(removal, at, entry->d_name)
				   : remove_name(removal, at, entry->d_name, 0);
}

/* Removes what is in the directories that are open, and these. */
static bool remove_levels(struct removal *removal, int dir)
{
	while (removal->depth > 0) {
		DIR *inner = removal->levels[removal->depth - 1].dir;
		const struct dirent *entry;

		errno = 0;
		entry = readdir(inner); /* NOLINT(concurrency-mt-unsafe): there are no threads */
		if (!entry && errno)
			return fsworker_task_fail_errno(removal->task, errno);
		if (entry ? !take_entry(removal, entry, dirfd(inner))
			  : !leave(removal, removal->depth > 1
						    ? dirfd(removal->levels[removal->depth - 2].dir)
						    : dir))
			return false;
	}
	return true;
}

static void remove_tree(struct fsworker_task *task, const struct fsworker_place *place)
{
	struct removal removal = { .task = task,
				   .levels = calloc(DEPTH_MAX, sizeof(*removal.levels)) };

	if (!removal.levels) {
		(void)fsworker_task_fail(task, KODA_FS_STATUS_NO_MEMORY, "");
		return;
	}
	if (!(enter(&removal, place->dir, place->name) && remove_levels(&removal, place->dir)) &&
	    removal.has_removed)
		task->reply.code = KODA_FS_STATUS_PARTIAL;
	while (removal.depth > 0)
		(void)closedir(removal.levels[--removal.depth].dir);
	free(removal.levels);
}

void fsworker_remove(struct fsworker_task *task)
{
	fsworker_auto_place struct fsworker_place place = FSWORKER_PLACE_INIT;
	bool is_dir;

	if (!fsworker_resolve(task, task->request.text[0], FSWORKER_RESOLVE_LAST, &place) ||
	    !fsworker_resolve_is_inside(task, &place) ||
	    !fsworker_judge_replace(task, fsworker_resolve_path(&place)) ||
	    !fsworker_resolve_exists(task, &place))
		return;
	is_dir = S_ISDIR(place.st.st_mode);
	if (is_dir && fsworker_task_has(task, KODA_FS_RECURSIVE))
		remove_tree(task, &place);
	else if (unlinkat(place.dir, place.name, is_dir ? AT_REMOVEDIR : 0) < 0)
		(void)fsworker_task_fail_errno(task, errno);
}
