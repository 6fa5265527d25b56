/* SPDX-License-Identifier: MIT */
/* T-92. The list of directories of a survey. */
#include "run/project/dir_snapshot.h"

#include "base/error.h"

#include <stdlib.h>
#include <string.h>

const struct koda_dir_snapshot_other koda_dir_snapshot_others[KODA_DIR_SNAPSHOT_OTHERS] = {
	{ ".hg", KODA_DIR_SNAPSHOT_HG },
	{ ".sl", KODA_DIR_SNAPSHOT_SL },
	{ ".jj", KODA_DIR_SNAPSHOT_JJ },
};

static int grow(struct koda_dir_snapshot *snapshot, struct koda_error *err)
{
	size_t cap = snapshot->cap ? 2 * snapshot->cap : 64;
	struct koda_dir_snapshot_dir *dirs;

	if (snapshot->count < snapshot->cap)
		return KODA_OK;
	dirs = reallocarray(snapshot->dirs, cap, sizeof(*dirs));
	if (!dirs)
		return koda_fail_nomem(err);
	snapshot->dirs = dirs;
	snapshot->cap = cap;
	return KODA_OK;
}

/* Names the parent of the new directory in an error. */
static int fail_in(const struct koda_dir_snapshot *snapshot, uint32_t parent,
		   struct koda_error *err)
{
	koda_auto_buf struct koda_buf path = KODA_BUF_INIT(SIZE_MAX / 2);

	if (parent == KODA_DIR_SNAPSHOT_TOP ||
	    koda_dir_snapshot_path(snapshot, parent, &path, NULL) < 0)
		return KODA_E_LIMIT;
	koda_error_within(err, path.ptr);
	return KODA_E_LIMIT;
}

int koda_dir_snapshot_add(struct koda_dir_snapshot *snapshot, uint32_t parent, const char *name,
			  struct koda_survey_budget *budget, struct koda_error *err)
{
	size_t len = strlen(name);
	struct koda_dir_snapshot_dir dir = { .parent = parent,
					     .name = (uint32_t)snapshot->names.len,
					     .len = (uint16_t)len };
	int r = koda_survey_budget_take_bytes(budget, len + sizeof(dir), "", err);

	if (r < 0)
		return fail_in(snapshot, parent, err);
	if (len > UINT16_MAX)
		return koda_fail_at(err, KODA_E_LIMIT, 0, name, "the path is too long");
	r = grow(snapshot, err);
	if (r < 0)
		return r;
	r = koda_buf_add(&snapshot->names, name, len);
	if (r < 0)
		return koda_fail_room(err, r, "the list of directories");
	snapshot->dirs[snapshot->count++] = dir;
	return KODA_OK;
}

int koda_dir_snapshot_path(const struct koda_dir_snapshot *snapshot, size_t i, struct koda_buf *out,
			   struct koda_error *err)
{
	const struct koda_dir_snapshot_dir *dir = &snapshot->dirs[i];
	size_t len = dir->len;
	char *room;

	while (dir->parent != KODA_DIR_SNAPSHOT_TOP) {
		dir = &snapshot->dirs[dir->parent];
		len += dir->len + 1;
	}
	/* The path "/" has its slash already. */
	len -= len > 1 && dir->len == 1;
	out->len = 0;
	if (koda_buf_room(out, len, &room) < 0)
		return koda_fail_nomem(err);
	koda_buf_grew(out, len);
	for (dir = &snapshot->dirs[i]; dir->parent != KODA_DIR_SNAPSHOT_TOP;
	     dir = &snapshot->dirs[dir->parent]) {
		len -= dir->len;
		memcpy(room + len, snapshot->names.ptr + dir->name, dir->len);
		room[--len] = '/';
	}
	memcpy(room, snapshot->names.ptr + dir->name, len > 0 ? len : dir->len);
	return KODA_OK;
}

void koda_dir_snapshot_note(struct koda_dir_snapshot *snapshot, size_t i, const struct stat *st,
			    unsigned int flags)
{
	struct koda_dir_snapshot_dir *dir = &snapshot->dirs[i];

	dir->flags |= (uint16_t)(flags | KODA_DIR_SNAPSHOT_SEEN);
	dir->dev = st->st_dev;
	dir->ino = st->st_ino;
	dir->sec = st->st_ctim.tv_sec;
	dir->nsec = (uint32_t)st->st_ctim.tv_nsec;
}

/* st_ctime cannot be set by processes. Where it is coarse, a change shortly after stat() may not
 * change it; some file systems have steps of two seconds. */
#define COARSE_SECS 2

bool koda_dir_snapshot_is_unchanged(const struct koda_dir_snapshot *snapshot, size_t i,
				    const struct stat *st)
{
	const struct koda_dir_snapshot_dir *dir = &snapshot->dirs[i];

	if (dir->dev != st->st_dev || dir->ino != st->st_ino || dir->sec != st->st_ctim.tv_sec ||
	    dir->nsec != st->st_ctim.tv_nsec || !(dir->flags & KODA_DIR_SNAPSHOT_SEEN))
		return false;
	return (dir->flags & KODA_DIR_SNAPSHOT_FINE && dir->nsec != 0) ||
	       dir->sec + COARSE_SECS < snapshot->since.tv_sec;
}

bool koda_dir_snapshot_is_since(const struct koda_dir_snapshot *snapshot, struct timespec time)
{
	return time.tv_sec + COARSE_SECS >= snapshot->since.tv_sec;
}

size_t koda_dir_snapshot_fullest(const struct koda_dir_snapshot *snapshot, size_t top)
{
	/* A directory comes after its parent, so each count is complete when it is added to the
	 * parent. */
	koda_auto_free uint32_t *below = calloc(snapshot->count, sizeof(*below));
	size_t fullest = top;

	for (size_t i = below ? snapshot->count : 0; i-- > top + 1;) {
		uint32_t parent = snapshot->dirs[i].parent;

		if (parent == KODA_DIR_SNAPSHOT_TOP)
			continue;
		if (parent == top && (fullest == top || below[i] > below[fullest]))
			fullest = i;
		below[parent] += below[i] + 1;
	}
	return fullest != top && 2 * (below[fullest] + 1) > below[top] ? fullest : top;
}

uint64_t koda_dir_snapshot_git_id(const struct stat *git)
{
	const uint64_t changed =
		(uint64_t)git->st_ctim.tv_sec * 1000000000ULL + (uint64_t)git->st_ctim.tv_nsec;

	/* The times of a directory change with every use of git. */
	return S_ISDIR(git->st_mode) ? git->st_ino : git->st_ino ^ changed << 20;
}

void koda_dir_snapshot_clear(struct koda_dir_snapshot *snapshot)
{
	free(snapshot->dirs);
	for (size_t i = 0; i < snapshot->tree_count; i++) {
		free(snapshot->trees[i].top);
		free(snapshot->trees[i].git_dir);
	}
	free(snapshot->trees);
	koda_buf_clear(&snapshot->names);
	koda_set_clear(&snapshot->gitlinks);
	koda_set_clear(&snapshot->stale);
	*snapshot = (struct koda_dir_snapshot)KODA_DIR_SNAPSHOT_INIT;
}
