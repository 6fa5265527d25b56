/* SPDX-License-Identifier: MIT */
/* T-92. Finds directories and repositories in a snapshot. */
#include "run/project/git_known.h"

#include "base/error.h"
#include "base/path.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

struct dir_id {
	uint64_t dev;
	uint64_t ino;
};

static struct koda_span id_of(const struct dir_id *id)
{
	return (struct koda_span){ (const char *)id, sizeof(*id) };
}

static int list_ids(struct koda_git_known *known, struct koda_error *err)
{
	for (size_t i = known->ids.count; i < known->snapshot->count; i++) {
		/* Directories that could not be opened have their inode in the snapshot too. */
		struct dir_id id = { known->snapshot->dirs[i].dev, known->snapshot->dirs[i].ino };

		if (id.ino == 0)
			id = (struct dir_id){ UINT64_MAX, i };
		/* A directory that two mounts show counts once. */
		if (koda_set_find(&known->ids, id_of(&id)) != KODA_SET_NONE)
			id = (struct dir_id){ UINT64_MAX - 1, i };
		if (koda_set_add(&known->ids, id_of(&id), NULL) < 0)
			return koda_fail_nomem(err);
	}
	return KODA_OK;
}

int koda_git_known_list_tops(struct koda_git_known *known, struct koda_error *err)
{
	koda_auto_buf struct koda_buf path = KODA_BUF_INIT(SIZE_MAX / 2);
	int r = KODA_OK;

	if (known->tops.len > 0)
		return KODA_OK;
	for (size_t i = 0; i < known->snapshot->count && r == KODA_OK; i++) {
		if (known->snapshot->dirs[i].parent != KODA_DIR_SNAPSHOT_TOP)
			continue;
		r = koda_dir_snapshot_path(known->snapshot, i, &path, err);
		if (r == KODA_OK)
			r = koda_strv_add(&known->tops, path.ptr, err);
	}
	return r;
}

const char *koda_git_known_top(const struct koda_git_known *known, const char *path)
{
	for (size_t i = 0; i < known->tops.len; i++)
		if (koda_path_covers(koda_span_of(known->tops.items[i]), koda_span_of(path)))
			return known->tops.items[i];
	return NULL;
}

/* Tells whether a directory lies deeper than the scan went. */
static bool is_deep(const struct koda_git_known *known, const char *path)
{
	const char *top = koda_git_known_top(known, path);
	unsigned int level = 0;

	for (path += top ? strlen(top) : 0; *path; path++)
		level += *path == '/';
	return level > known->snapshot->depth;
}

/* Tells whether a .git was created since the start, in a directory deeper than the scan went.
 * st_ctime of a directory changes with every use, and stx_btime is not always known. */
static bool is_made_since(const struct koda_dir_snapshot *snapshot, int dir, const struct stat *git)
{
	struct statx more;

	if (!koda_dir_snapshot_is_since(snapshot, git->st_ctim))
		return false;
	if (!S_ISDIR(git->st_mode) ||
	    statx(dir, ".git", AT_SYMLINK_NOFOLLOW, STATX_BTIME, &more) < 0 ||
	    !(more.stx_mask & STATX_BTIME))
		return true;
	return koda_dir_snapshot_is_since(snapshot,
					  (struct timespec){ .tv_sec = more.stx_btime.tv_sec });
}

int koda_git_known_find(struct koda_git_known *known, int dir, size_t *ret_i,
			struct koda_error *err)
{
	struct dir_id id;
	struct stat st;
	int r = list_ids(known, err);

	*ret_i = KODA_SET_NONE;
	if (r < 0 || fstat(dir, &st) < 0)
		return r;
	id = (struct dir_id){ st.st_dev, st.st_ino };
	*ret_i = koda_set_find(&known->ids, id_of(&id));
	return KODA_OK;
}

int koda_git_known_has(struct koda_git_known *known, int dir, const char *path,
		       const struct stat *git, bool *ret_has, struct koda_error *err)
{
	const struct koda_dir_snapshot *snapshot = known->snapshot;
	size_t i;
	int r = koda_git_known_find(known, dir, &i, err);

	*ret_has = false;
	if (r == KODA_OK)
		r = koda_git_known_list_tops(known, err);
	if (r < 0)
		return r;
	if (i != KODA_SET_NONE)
		*ret_has = snapshot->dirs[i].flags & KODA_DIR_SNAPSHOT_GIT &&
			   snapshot->dirs[i].git_id == koda_dir_snapshot_git_id(git);
	else if (is_deep(known, path))
		*ret_has = !is_made_since(snapshot, dir, git);
	return KODA_OK;
}

void koda_git_known_clear(struct koda_git_known *known)
{
	koda_set_clear(&known->ids);
	koda_strv_clear(&known->tops);
}
