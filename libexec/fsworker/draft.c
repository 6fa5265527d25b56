/* SPDX-License-Identifier: MIT */
#include "draft.h"

#include "base/fd.h"
#include "judge.h"
#include "keep.h"
#include "open.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/random.h>
#include <unistd.h>

/* Bits of a mode that a replaced file keeps. */
#define MODE_KEPT 01777

/* Fails if a file may not be replaced by another one. */
static bool is_replaceable(struct fsworker_task *task, const struct stat *st)
{
	if (fsworker_task_has(task, KODA_FS_NEW))
		return fsworker_task_fail(task, KODA_FS_STATUS_EXISTS, "");
	if (!S_ISREG(st->st_mode))
		return fsworker_task_fail(task, KODA_FS_STATUS_NOT_FILE, "");
	if (st->st_nlink > 1)
		return fsworker_task_fail(task, KODA_FS_STATUS_LINKED, "");
	if (st->st_uid != task->worker->uid)
		return fsworker_task_fail(task, KODA_FS_STATUS_FOREIGN, "");
	return true;
}

/* Fails if the content of a file is not the one that is expected. */
static bool is_expected(struct fsworker_task *task, struct fsworker_place *place)
{
	unsigned char hash[KODA_SHA256_BYTES];
	koda_auto_fd int fd = -1;

	if (!fsworker_task_has(task, KODA_FS_EXPECT))
		return true;
	if (!place->exists)
		return fsworker_task_fail(task, KODA_FS_STATUS_CHANGED, "");
	if (!fsworker_open_file(task, place, O_RDONLY, &fd) || !fsworker_keep_hash(task, fd, hash))
		return false;
	return memcmp(hash, &task->request.n[2], sizeof(hash)) == 0 ||
	       fsworker_task_fail(task, KODA_FS_STATUS_CHANGED, "");
}

/* Fails if an open file is another one than it was, or has changed. */
static bool is_origin(struct fsworker_task *task, const struct fsworker_draft *draft, int fd)
{
	struct stat st;

	if (!draft->origin)
		return true;
	if (fstat(fd, &st) < 0)
		return fsworker_task_fail_errno(task, errno);
	return fsworker_keep_is_same(draft->origin, &st) ||
	       fsworker_task_fail(task, KODA_FS_STATUS_CHANGED, "");
}

/* Opens the file itself, or makes it. */
static bool open_in_place(struct fsworker_task *task, struct fsworker_draft *draft)
{
	struct fsworker_place *place = &draft->place;

	if (place->exists && fsworker_task_has(task, KODA_FS_NEW))
		return fsworker_task_fail(task, KODA_FS_STATUS_EXISTS, "");
	if (!is_expected(task, place))
		return false;
	if (place->exists)
		return fsworker_open_file(task, place, O_WRONLY, &draft->fd) &&
		       is_origin(task, draft, draft->fd);
	draft->fd = openat(place->dir, place->name,
			   O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, draft->mode);
	return draft->fd >= 0 || fsworker_task_fail_errno(task, errno);
}

static bool choose_name(struct fsworker_draft *draft)
{
	uint64_t number;

	if (getrandom(&number, sizeof(number), 0) != (ssize_t)sizeof(number))
		return false;
	(void)snprintf(draft->name, sizeof(draft->name), ".koda-%016llx.tmp",
		       (unsigned long long)number);
	return true;
}

/* Makes a file without a name, so that none is left behind if the worker is killed; with a name,
 * where the file system has no such files. */
static bool open_beside(struct fsworker_task *task, struct fsworker_draft *draft)
{
	int dir = draft->place.dir;

	if (task->worker->has_proc)
		draft->fd = openat(dir, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, draft->mode);
	if (draft->fd >= 0)
		return true;
	if (task->worker->has_proc && errno != EOPNOTSUPP && errno != EISDIR && errno != ENOENT &&
	    errno != EINVAL)
		return fsworker_task_fail_errno(task, errno);
	if (!choose_name(draft))
		return fsworker_task_fail_errno(task, errno);
	draft->fd = openat(dir, draft->name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			   draft->mode);
	if (draft->fd >= 0)
		return true;
	draft->name[0] = '\0';
	return fsworker_task_fail_errno(task, errno);
}

/* Returns true if a path can only be that of a directory. */
static bool names_dir(struct koda_span path)
{
	return path.ptr[path.len - 1] == '/' ||
	       (path.len > 1 && path.ptr[path.len - 1] == '.' && path.ptr[path.len - 2] == '/');
}

bool fsworker_draft_resolve(struct fsworker_task *task, struct fsworker_draft *draft,
			    unsigned int how)
{
	struct fsworker_place *place = &draft->place;
	struct koda_span path;

	if (!fsworker_resolve(task, task->request.text[0], how, place))
		return false;
	path = fsworker_resolve_path(place);
	fsworker_task_set_path(task, path);
	if (fsworker_resolve_is_root(place))
		return fsworker_task_fail(task, KODA_FS_STATUS_NOT_FILE, "");
	if (!(fsworker_task_has(task, KODA_FS_IN_PLACE) ? fsworker_judge_write(task, path)
							: fsworker_judge_replace(task, path)))
		return false;
	if (place->is_linked && !place->exists)
		return fsworker_task_fail(task, KODA_FS_STATUS_LINK, "");
	return place->exists || !names_dir(task->request.text[0]) ||
	       fsworker_task_fail(task, KODA_FS_STATUS_NOT_FILE, "");
}

bool fsworker_draft_open(struct fsworker_task *task, struct fsworker_draft *draft)
{
	struct fsworker_place *place = &draft->place;

	koda_sha256_start(&draft->hash);
	if (fsworker_task_has(task, KODA_FS_IN_PLACE))
		return open_in_place(task, draft);
	if (place->exists && !is_replaceable(task, &place->st))
		return false;
	if (place->exists)
		draft->mode = place->st.st_mode & MODE_KEPT;
	return open_beside(task, draft);
}

bool fsworker_draft_add(struct fsworker_task *task, struct fsworker_draft *draft, const void *bytes,
			size_t len)
{
	struct koda_error err;

	if (koda_fd_write_all(draft->fd, bytes, len, &err) < 0) {
		/* Part of it may have been written. */
		draft->len++;
		return fsworker_task_fail_errno(task, err.sys_errno);
	}
	draft->len += len;
	if (fsworker_task_has(task, KODA_FS_HASH))
		koda_sha256_add(&draft->hash, bytes, len);
	return true;
}

/* Gives the draft a name, if it has none. */
static bool give_name(struct fsworker_task *task, struct fsworker_draft *draft)
{
	char path[sizeof("/proc/self/fd/") + 3 * sizeof(draft->fd)];

	if (draft->name[0])
		return true;
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", draft->fd);
	if (choose_name(draft) &&
	    linkat(AT_FDCWD, path, draft->place.dir, draft->name, AT_SYMLINK_FOLLOW) == 0)
		return true;
	draft->name[0] = '\0';
	return fsworker_task_fail_errno(task, errno);
}

/* Makes the draft like the file that it replaces. */
static bool take_after(struct fsworker_task *task, struct fsworker_draft *draft)
{
	struct fsworker_place *place = &draft->place;
	koda_auto_fd int old = -1;

	place->exists = fstatat(place->dir, place->name, &place->st, AT_SYMLINK_NOFOLLOW) == 0;
	if (!place->exists && errno != ENOENT)
		return fsworker_task_fail_errno(task, errno);
	if (draft->origin && (!place->exists || !fsworker_keep_is_same(draft->origin, &place->st)))
		return fsworker_task_fail(task, KODA_FS_STATUS_CHANGED, "");
	if (!is_expected(task, place))
		return false;
	if (!place->exists)
		return true;
	if (!is_replaceable(task, &place->st))
		return false;
	/* A file that is not readable cannot be replaced: its extended attributes would be lost. */
	if (!fsworker_open_file(task, place, O_RDONLY, &old))
		return false;
	draft->mode = place->st.st_mode & MODE_KEPT;
	return fsworker_keep_owner(task, &place->st, draft->fd) &&
	       fsworker_keep_xattrs(task, old, draft->fd) &&
	       fsworker_keep_mode(task, draft->mode, draft->fd);
}

static bool commit_beside(struct fsworker_task *task, struct fsworker_draft *draft)
{
	const struct fsworker_place *place = &draft->place;
	unsigned int flags = fsworker_task_has(task, KODA_FS_NEW) ? RENAME_NOREPLACE : 0;

	if (!take_after(task, draft))
		return false;
	if (fsync(draft->fd) < 0)
		return fsworker_task_fail_errno(task, errno);
	if (!give_name(task, draft))
		return false;
	if (renameat2(place->dir, draft->name, place->dir, place->name, flags) < 0)
		return fsworker_task_fail_errno(task, errno);
	draft->name[0] = '\0';
	return true;
}

static bool commit_in_place(struct fsworker_task *task, struct fsworker_draft *draft)
{
	struct stat st;

	if (ftruncate(draft->fd, (off_t)draft->len) < 0 || fsync(draft->fd) < 0 ||
	    fstat(draft->fd, &st) < 0)
		return fsworker_task_fail_errno(task, errno);
	draft->mode = st.st_mode;
	return true;
}

bool fsworker_draft_commit(struct fsworker_task *task, struct fsworker_draft *draft,
			   mode_t *ret_mode)
{
	unsigned char hash[KODA_SHA256_BYTES];
	bool ok = fsworker_task_has(task, KODA_FS_IN_PLACE) ? commit_in_place(task, draft)
							    : commit_beside(task, draft);

	if (!ok)
		return false;
	if (fsworker_task_has(task, KODA_FS_HASH)) {
		koda_sha256_end(&draft->hash, hash);
		fsworker_task_set_hash(task, hash);
	}
	*ret_mode = draft->mode & 07777;
	return true;
}

void fsworker_draft_clear(struct fsworker_task *task, struct fsworker_draft *draft)
{
	if (draft->name[0])
		(void)unlinkat(draft->place.dir, draft->name, 0);
	if (task->reply.code != KODA_FS_STATUS_OK && fsworker_task_has(task, KODA_FS_IN_PLACE) &&
	    draft->len > 0)
		task->reply.code = KODA_FS_STATUS_PARTIAL;
	draft->name[0] = '\0';
	koda_fd_close(&draft->fd);
	fsworker_resolve_clear(&draft->place);
}
