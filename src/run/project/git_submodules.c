/* SPDX-License-Identifier: MIT */
/* T-92. Reads gitlinks from indexes, and finds those that are new. */
#include "run/project/git_submodules.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/path.h"
#include "run/project/git_dir.h"
#include "run/project/git_file.h"
#include "run/project/git_index_file.h"
#include "run/project/git_sparse.h"
#include "run/project/worktree.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* One repository. */
struct repository {
	struct koda_git_submodules *links;
	const char *worktree;
	const char *git_dir; /* what is reported if the index cannot be read */
	int fd;              /* of the work tree */
	bool linked;         /* the index has led to all of it since the start */
	bool around;         /* parts of the work tree lie where no command writes */
};

static int add_unread(const struct repository *repository)
{
	if (repository->links->found)
		return KODA_OK;
	return koda_left_behind_add(repository->links->left, repository->git_dir, NULL,
				    KODA_LEFT_GITLINK, repository->links->err);
}

static bool was_linked(const struct repository *repository, const char *dir)
{
	return repository->linked || koda_set_find(&repository->links->known.snapshot->gitlinks,
						   koda_span_of(dir)) != KODA_SET_NONE;
}

/* Opens the directory of a gitlink. Git does not enter one behind a link, but other tools may, so
 * its target counts. */
static int open_link(const struct repository *repository, const char *path)
{
	struct open_how how = { .flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
				.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS |
					   RESOLVE_NO_MAGICLINKS };
	int fd = (int)syscall(SYS_openat2, repository->fd, path, &how, sizeof(how));

	if (fd >= 0 || errno != ELOOP)
		return fd;
	how.resolve = RESOLVE_NO_MAGICLINKS;
	return (int)syscall(SYS_openat2, repository->fd, path, &how, sizeof(how));
}

/* Adds dir if the index has led to the repository in it only since the start. */
static int check_link(const struct repository *repository, const char *path, const char *dir)
{
	struct koda_git_submodules *links = repository->links;
	koda_auto_fd int fd = -1;
	bool known = false;
	struct stat git;
	int r;

	if (links->dirs == KODA_GIT_SUBMODULES_DIRS || koda_clock_now() >= links->deadline_ns)
		return KODA_E_LIMIT;
	links->dirs++;
	fd = open_link(repository, path);
	if (fd < 0 || fstatat(fd, ".git", &git, AT_SYMLINK_NOFOLLOW) < 0)
		/* What cannot be examined here, such as a closed directory, may be open when git
		 * runs. */
		return errno == ENOENT || errno == ENOTDIR || was_linked(repository, dir)
			       ? KODA_OK
			       : koda_left_behind_add(links->left, dir, ".git", KODA_LEFT_GITLINK,
						      links->err);
	if (!koda_git_dir_is_dot_git(fd, &git))
		return KODA_OK;
	r = koda_git_known_has(&links->known, fd, dir, &git, &known, links->err);
	if (r < 0 || (known && was_linked(repository, dir)))
		return r;
	return koda_left_behind_add(links->left, dir, ".git", KODA_LEFT_GITLINK, links->err);
}

/* Checks what lies in the project of a sparse directory, which may lie around it. */
static int check_sparse(const struct repository *repository, struct koda_span path)
{
	struct koda_git_submodules *links = repository->links;
	const struct koda_strv *tops = &links->known.tops;
	koda_auto_free char *full = NULL;
	int r = koda_path_join(repository->worktree, path.ptr, &full, links->err);

	if (r < 0)
		return r;
	full[strlen(full) - 1] = '\0';
	if (!repository->around || koda_git_known_top(&links->known, full))
		return koda_git_sparse_check(links, repository->fd, repository->worktree, path,
					     repository->linked);
	for (size_t i = 0; i < tops->len && r == KODA_OK; i++) {
		const char *below = tops->items[i] + strlen(repository->worktree) + 1;

		if (koda_path_covers(koda_span_of(full), koda_span_of(tops->items[i])))
			r = koda_git_sparse_check(links, repository->fd, repository->worktree,
						  koda_span_of(below), repository->linked);
	}
	return r;
}

/* Adds a gitlink to those of a survey. */
static int note_link(struct koda_git_submodules *links, const char *dir)
{
	int r = koda_survey_budget_take_entries(links->budget, 1, dir, links->err);

	if (r == KODA_OK)
		r = koda_survey_budget_take_bytes(links->budget, strlen(dir), dir, links->err);
	if (r < 0)
		return r;
	r = koda_set_add(links->found, koda_span_of(dir), NULL);
	return r < 0 ? koda_fail_room(links->err, r, "the list of submodules") : KODA_OK;
}

static int see(void *ctx, struct koda_span path)
{
	const struct repository *repository = ctx;
	struct koda_git_submodules *links = repository->links;
	koda_auto_free char *dir = NULL;
	int r;

	if (path.ptr[path.len - 1] == '/')
		return links->found ? KODA_OK : check_sparse(repository, path);
	r = koda_path_join(repository->worktree, path.ptr, &dir, links->err);
	if (r < 0)
		return r;
	if (repository->around && !koda_git_known_top(&links->known, dir))
		return KODA_OK;
	return links->found ? note_link(links, dir) : check_link(repository, path.ptr, dir);
}

/* Opens the git directory of a work tree; -1 if it is gone or closed. */
static int open_git_dir(const char *dot_git, bool *ret_closed)
{
	koda_auto_strv struct koda_strv passed = KODA_STRV_INIT;
	koda_auto_free char *dir = NULL;
	/* Most are directories; following a pointer costs ten times as much. */
	int fd = open(dot_git, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	*ret_closed = false;
	if (fd >= 0)
		return fd;
	*ret_closed = koda_git_file_follow(dot_git, &dir, &passed, NULL) < 0;
	if (*ret_closed || !dir)
		return -1;
	fd = open(dir, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	*ret_closed = fd < 0 && errno != ENOENT;
	return fd;
}

/* Reads the index in an open git directory. */
static int check_index(struct repository *repository, int git_dir)
{
	struct koda_git_submodules *links = repository->links;
	koda_auto_fd int fd =
		open(repository->worktree, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int r;

	if (fd < 0)
		return errno == ENOENT ? KODA_OK : add_unread(repository);
	repository->fd = fd;
	r = koda_git_index_file_walk(git_dir, &links->bytes, see, repository);
	if (r == KODA_E_INVALID || (r == KODA_E_LIMIT && !links->found))
		return add_unread(repository);
	return r;
}

int koda_git_submodules_check(struct koda_git_submodules *links, size_t i, bool touched)
{
	koda_auto_buf struct koda_buf path = KODA_BUF_INIT(SIZE_MAX / 2);
	struct repository repository = { .links = links, .fd = -1 };
	koda_auto_free char *dot_git = NULL;
	koda_auto_fd int git_dir = -1;
	bool closed = false;
	int r = koda_dir_snapshot_path(links->known.snapshot, i, &path, links->err);

	if (r == KODA_OK)
		r = koda_path_join(path.ptr, ".git", &dot_git, links->err);
	if (r != KODA_OK)
		return r;
	repository.worktree = path.ptr;
	repository.git_dir = dot_git;
	git_dir = open_git_dir(dot_git, &closed);
	if (git_dir < 0)
		return closed ? add_unread(&repository) : KODA_OK;
	if (!links->found)
		repository.linked = !koda_git_index_file_is_new(git_dir, links->known.snapshot);
	return !touched && repository.linked ? KODA_OK : check_index(&repository, git_dir);
}

int koda_git_submodules_check_tree(struct koda_git_submodules *links,
				   const struct koda_dir_snapshot_tree *tree, bool touched)
{
	struct repository repository = { .links = links,
					 .worktree = tree->top,
					 .git_dir = tree->git_dir,
					 .fd = -1,
					 .around = true };
	koda_auto_fd int git_dir = -1;
	int r;

	if (!touched && !tree->writable)
		return KODA_OK;
	git_dir = open(tree->git_dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	/* Where no command can open what is closed, it is closed to git too. */
	if (git_dir < 0)
		return errno == ENOENT || !tree->writable ? KODA_OK : add_unread(&repository);
	if (!tree->writable && faccessat(git_dir, "index", R_OK, AT_EACCESS) < 0)
		return KODA_OK;
	if (!links->found)
		repository.linked = !tree->writable ||
				    !koda_git_index_file_is_new(git_dir, links->known.snapshot);
	if (!touched && repository.linked)
		return KODA_OK;
	r = koda_git_known_list_tops(&links->known, links->err);
	return r < 0 ? r : check_index(&repository, git_dir);
}

/* Tells whether the work tree has a .gitmodules, whose submodules may lie deeper than the scan. */
static int has_submodules(const struct koda_dir_snapshot *snapshot, size_t i, bool *ret_has,
			  struct koda_error *err)
{
	koda_auto_buf struct koda_buf path = KODA_BUF_INIT(SIZE_MAX / 2);
	int r = koda_dir_snapshot_path(snapshot, i, &path, err);

	*ret_has = r == KODA_OK && koda_worktree_has(path.ptr, ".gitmodules");
	return r;
}

/* Returns, for each directory, whether a repository lies below it. */
static bool *find_outer(const struct koda_dir_snapshot *snapshot)
{
	bool *outer = calloc(snapshot->count + 1, sizeof(*outer));

	for (size_t i = 0; outer && i < snapshot->count; i++) {
		uint32_t up = snapshot->dirs[i].parent;

		if (!(snapshot->dirs[i].flags & KODA_DIR_SNAPSHOT_GIT))
			continue;
		for (; up != KODA_DIR_SNAPSHOT_TOP && !outer[up]; up = snapshot->dirs[up].parent)
			outer[up] = true;
	}
	return outer;
}

/* Notes the gitlinks of work trees elsewhere, if a command may change them. */
static int note_trees(struct koda_git_submodules *links)
{
	const struct koda_dir_snapshot *snapshot = links->known.snapshot;
	int r = KODA_OK;

	for (size_t i = 0; i < snapshot->tree_count && r == KODA_OK; i++)
		if (snapshot->trees[i].writable)
			r = koda_git_submodules_check_tree(links, &snapshot->trees[i], true);
	return r;
}

int koda_git_submodules_note(struct koda_dir_snapshot *snapshot, struct koda_survey_budget *budget,
			     struct koda_error *err)
{
	koda_auto_free bool *outer = find_outer(snapshot);
	struct koda_git_submodules links = { .known = KODA_GIT_KNOWN_INIT(snapshot),
					     .found = &snapshot->gitlinks,
					     .budget = budget,
					     .err = err };
	int r = KODA_OK;

	if (!outer)
		return koda_fail_nomem(err);
	snapshot->gitlinks.text.max = KODA_SURVEY_BUDGET_BYTES;
	for (size_t i = 0; i < snapshot->count && r == KODA_OK; i++) {
		if (!(snapshot->dirs[i].flags & KODA_DIR_SNAPSHOT_GIT))
			continue;
		if (!outer[i])
			r = has_submodules(snapshot, i, &outer[i], err);
		if (r == KODA_OK && outer[i])
			r = koda_git_submodules_check(&links, i, true);
	}
	if (r == KODA_OK)
		r = note_trees(&links);
	koda_git_known_clear(&links.known);
	return r;
}
