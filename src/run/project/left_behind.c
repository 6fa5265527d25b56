/* SPDX-License-Identifier: MIT */
/* T-92. Git on the host takes its configuration, and programs in it, from the first git directory
 * that it finds upwards; Mercurial, Sapling and Jujutsu do likewise. Protected names keep a command
 * from changing existing ones. Creating a new one cannot be prevented everywhere, so the
 * directories that existed at the start are examined again at the end, if they have changed, and
 * new repositories in them are reported. Repositories in new directories are normal work, unless
 * the index of an existing one has a gitlink to them. */
#include "run/project/left_behind.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/path.h"
#include "run/project/git_dir.h"
#include "run/project/git_file.h"
#include "run/project/git_submodules.h"
#include "run/project/left_behind_link.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* What was found out about a directory of the snapshot. */
struct state {
	uint32_t there; /* how many of its subdirectories in the snapshot still exist */
	uint32_t links; /* st_nlink, if it has changed */
	bool changed;
	bool touched; /* it, or a directory below it, has a new subdirectory */
};

struct finder {
	const struct koda_dir_snapshot *snapshot;
	struct koda_left_behind *left;
	struct koda_buf path;
	size_t parent; /* number of the directory that is open */
	int fd;        /* descriptor of parent; -1: it is gone */
	bool linked;   /* parent is a link now, or lies behind one */
	struct koda_git_known known;
	struct state *states; /* owned; one for each directory */
	uint64_t deadline_ns;
	struct koda_error *err;
};

/* Opens a directory by a path without links; -1 if it is gone. */
static int open_dir(const char *path)
{
	struct open_how how = { .flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
				.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS };

	return (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));
}

/* Reports a directory that was open at the start and is closed now: it may contain anything. Those
 * that were closed at the start were read-only (git_scan_queue.h). */
static int add_unseen(struct finder *f, size_t i)
{
	int r;

	if (!(f->snapshot->dirs[i].flags & KODA_DIR_SNAPSHOT_SEEN))
		return KODA_OK;
	r = koda_dir_snapshot_path(f->snapshot, i, &f->path, f->err);
	return r < 0 ? r
		     : koda_left_behind_add(f->left, f->path.ptr, NULL, KODA_LEFT_UNSEEN, f->err);
}

/* Reports a .git that is new, or was replaced. */
static int check_git(struct finder *f, size_t i, int fd)
{
	const struct koda_dir_snapshot_dir *dir = &f->snapshot->dirs[i];
	struct stat git;

	if (fstatat(fd, ".git", &git, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? KODA_OK : add_unseen(f, i);
	f->states[i].there += S_ISDIR(git.st_mode);
	if ((dir->flags & KODA_DIR_SNAPSHOT_GIT && dir->git_id == koda_dir_snapshot_git_id(&git)) ||
	    !koda_git_dir_is_dot_git(fd, &git))
		return KODA_OK;
	return koda_left_behind_add(f->left, f->path.ptr, ".git",
				    S_ISDIR(git.st_mode) ? KODA_LEFT_GIT_DIR : KODA_LEFT_GIT_FILE,
				    f->err);
}

/* Reports a directory that has become a git directory itself. */
static int check_bare(struct finder *f, size_t i, int fd)
{
	if (f->snapshot->dirs[i].flags & KODA_DIR_SNAPSHOT_BARE)
		return KODA_OK;
	if (koda_git_dir_is_at(fd, NULL) != KODA_GIT_DIR_YES &&
	    koda_git_dir_is_worktree_at(fd, NULL) != KODA_GIT_DIR_YES)
		return KODA_OK;
	return koda_left_behind_add(f->left, f->path.ptr, NULL, KODA_LEFT_BARE_GIT_DIR, f->err);
}

/* Reports new repositories of other tools. */
static int check_others(struct finder *f, size_t i, int fd)
{
	int r = KODA_OK;

	for (size_t n = 0; n < KODA_DIR_SNAPSHOT_OTHERS && r == KODA_OK; n++) {
		const struct koda_dir_snapshot_other *other = &koda_dir_snapshot_others[n];

		if (!(f->snapshot->dirs[i].flags & other->flag) &&
		    koda_left_behind_is_other(fd, other->name))
			r = koda_left_behind_add(f->left, f->path.ptr, other->name,
						 KODA_LEFT_HG_DIR, f->err);
	}
	return r;
}

/* "." and the entry in the parent, then one per subdirectory. */
#define OWN_LINKS 2

/* Tells whether a directory has a new subdirectory. Placeholders change st_ctime too, but not the
 * count. */
static bool has_new_subdir(const struct finder *f, size_t i)
{
	const struct state *state = &f->states[i];

	return state->changed && (!(f->snapshot->dirs[i].flags & KODA_DIR_SNAPSHOT_COUNTED) ||
				  state->links != state->there + OWN_LINKS);
}

/* Marks all parents of directories that have a new subdirectory. */
static void touch_all(struct finder *f)
{
	for (size_t i = 0; i < f->snapshot->count; i++) {
		if (!has_new_subdir(f, i))
			continue;
		for (size_t up = i; up != KODA_DIR_SNAPSHOT_TOP && !f->states[up].touched;
		     up = f->snapshot->dirs[up].parent)
			f->states[up].touched = true;
	}
}

/* Judges the errno of open(): the directory is gone, or closed, which is reported elsewhere;
 * otherwise fails. */
static int fail_unless_gone(const struct finder *f)
{
	if (errno == ENOENT || errno == ENOTDIR || errno == ELOOP || errno == EACCES)
		return KODA_OK;
	return koda_fail(f->err, KODA_E_SYS, errno, "cannot look at the project");
}

/* Examines directory i, which has changed, as name in at. */
static int check_dir(struct finder *f, size_t i, int at, const char *name)
{
	koda_auto_fd int fd = openat(at, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int r = KODA_OK;

	if (fd < 0)
		return fail_unless_gone(f);
	f->states[i].changed = true;
	r = koda_dir_snapshot_path(f->snapshot, i, &f->path, f->err);
	if (r == KODA_OK)
		r = check_git(f, i, fd);
	if (r == KODA_OK)
		r = check_bare(f, i, fd);
	return r < 0 ? r : check_others(f, i, fd);
}

/* Opens the parent of directory i. Subdirectories of one parent follow each other. */
static int open_parent(struct finder *f, size_t i)
{
	size_t parent = f->snapshot->dirs[i].parent;
	int r;

	if (f->parent == parent)
		return KODA_OK;
	koda_fd_close(&f->fd);
	f->parent = parent;
	r = koda_dir_snapshot_path(f->snapshot, parent, &f->path, f->err);
	if (r < 0)
		return r;
	f->fd = open_dir(f->path.ptr);
	f->linked = f->fd < 0 && errno == ELOOP;
	return f->fd < 0 ? fail_unless_gone(f) : KODA_OK;
}

/* Follows directory i, which is a link now, or lies behind one. */
static int check_linked(struct finder *f, size_t i)
{
	int r = koda_dir_snapshot_path(f->snapshot, i, &f->path, f->err);

	return r < 0 ? r : koda_left_behind_check_link(&f->known, f->path.ptr, f->left, f->err);
}

static int check(struct finder *f, size_t i)
{
	const struct koda_dir_snapshot_dir *dir = &f->snapshot->dirs[i];
	bool is_top = dir->parent == KODA_DIR_SNAPSHOT_TOP;
	char name[KODA_PATH_MAX + 1];
	int at = AT_FDCWD;
	struct stat st;
	int r = is_top ? KODA_OK : open_parent(f, i);

	if (!is_top)
		at = f->fd;
	if (r < 0 || dir->len > KODA_PATH_MAX)
		return r;
	if (!is_top && at < 0)
		return f->linked ? check_linked(f, i) : KODA_OK;
	memcpy(name, f->snapshot->names.ptr + dir->name, dir->len);
	name[dir->len] = '\0';
	/* For directories in a closed one, the closed one was reported. */
	if (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return is_top && errno == EACCES ? add_unseen(f, i) : KODA_OK;
	if (S_ISLNK(st.st_mode))
		return check_linked(f, i);
	if (!S_ISDIR(st.st_mode))
		return KODA_OK;
	if (!is_top)
		f->states[dir->parent].there++;
	if (koda_dir_snapshot_is_unchanged(f->snapshot, i, &st))
		return KODA_OK;
	f->states[i].links = (uint32_t)st.st_nlink;
	return check_dir(f, i, at, name);
}

/* How many directories are examined between two readings of the clock, which costs as much as one.
 * */
#define ASKED_EVERY 32

static int check_time(const struct finder *f)
{
	if (koda_clock_now() < f->deadline_ns)
		return KODA_OK;
	return koda_fail(f->err, KODA_E_LIMIT, 0, "looking at the project takes too long");
}

static int check_dirs(struct finder *f)
{
	int r = KODA_OK;

	for (size_t i = 0; i < f->snapshot->count && r == KODA_OK; i++) {
		if (i % ASKED_EVERY == 0)
			r = check_time(f);
		if (r == KODA_OK)
			r = check(f, i);
	}
	koda_fd_close(&f->fd);
	return r;
}

/* Reports a .git that led to no git directory and leads to one now. Where that cannot be told, a
 * directory on the way was closed. */
static int check_stale(struct finder *f)
{
	const struct koda_set *stale = &f->snapshot->stale;
	int r = KODA_OK;

	for (size_t i = 0; i < stale->count && r == KODA_OK; i++) {
		const char *path = koda_set_get(stale, i).ptr;
		koda_auto_free char *dir = NULL;
		koda_auto_strv struct koda_strv passed = KODA_STRV_INIT;
		struct koda_error inner = { 0 };

		r = check_time(f);
		if (r < 0)
			return r;
		r = koda_git_file_follow(path, &dir, &passed, &inner);
		if (r == KODA_E_NOMEM)
			return koda_fail_nomem(f->err);
		if (r < 0)
			r = koda_left_behind_add(f->left, path, NULL, KODA_LEFT_UNSEEN, f->err);
		else if (dir)
			r = koda_left_behind_add(f->left, path, NULL, KODA_LEFT_GIT_FILE, f->err);
	}
	return r;
}

static int check_links(struct finder *f)
{
	struct koda_git_submodules links = { .known = KODA_GIT_KNOWN_INIT(f->snapshot),
					     .left = f->left,
					     .deadline_ns = f->deadline_ns,
					     .err = f->err };
	bool touched = false;
	int r = KODA_OK;

	touch_all(f);
	for (size_t i = 0; i < f->snapshot->count && r == KODA_OK; i++) {
		touched = touched || f->states[i].touched;
		if (!(f->snapshot->dirs[i].flags & KODA_DIR_SNAPSHOT_GIT))
			continue;
		r = check_time(f);
		if (r == KODA_OK)
			r = koda_git_submodules_check(&links, i, f->states[i].touched);
	}
	for (size_t i = 0; i < f->snapshot->tree_count && r == KODA_OK; i++) {
		r = check_time(f);
		if (r == KODA_OK)
			r = koda_git_submodules_check_tree(&links, &f->snapshot->trees[i], touched);
	}
	koda_git_known_clear(&links.known);
	return r;
}

int koda_left_behind_find(const struct koda_dir_snapshot *snapshot, uint64_t deadline_ns,
			  struct koda_left_behind *left, struct koda_error *err)
{
	struct finder f = { .snapshot = snapshot,
			    .known = KODA_GIT_KNOWN_INIT(snapshot),
			    .left = left,
			    .path = KODA_BUF_INIT(SIZE_MAX / 2),
			    .parent = SIZE_MAX,
			    .fd = -1,
			    .deadline_ns = deadline_ns,
			    .err = err };
	int r;

	if (snapshot->count == 0)
		return KODA_OK;
	f.states = calloc(snapshot->count, sizeof(*f.states));
	left->incomplete = true;
	if (!f.states)
		return koda_fail_nomem(err);
	r = check_dirs(&f);
	if (r == KODA_OK)
		r = check_stale(&f);
	if (r == KODA_OK)
		r = check_links(&f);
	left->incomplete = r < 0;
	koda_git_known_clear(&f.known);
	koda_buf_clear(&f.path);
	free(f.states);
	return r;
}
