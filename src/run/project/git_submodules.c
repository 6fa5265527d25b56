/* SPDX-License-Identifier: MIT */
/* T-92. Reads gitlinks from indexes, and finds those that are new. */
#include "run/project/git_submodules.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/proc.h"
#include "run/project/git_dir.h"
#include "run/project/git_file.h"
#include "run/project/git_index.h"
#include "run/project/git_sparse.h"
#include "run/project/inode_search.h"
#include "run/project/worktree.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Some file systems keep times in steps of two seconds. */
#define COARSE_SECS 2

/* How many entries of a git directory are read in search of a shared index. */
#define ENTRIES_MAX ((size_t)4096)

/* One repository. */
struct repository {
	struct koda_git_submodules *links;
	const char *worktree;
	unsigned int level; /* depth of the work tree below the start of the scan */
	int fd;             /* of the work tree */
};

struct dir_id {
	uint64_t dev;
	uint64_t ino;
};

static struct koda_span id_of(const struct dir_id *id)
{
	return (struct koda_span){ (const char *)id, sizeof(*id) };
}

static int index_dirs(struct koda_git_submodules *links)
{
	for (size_t i = links->ids.count; i < links->snapshot->count; i++) {
		/* Directories that could not be opened have their inode in the snapshot too. */
		struct dir_id id = { links->snapshot->dirs[i].dev, links->snapshot->dirs[i].ino };

		if (id.ino == 0)
			id = (struct dir_id){ UINT64_MAX, i };
		/* A directory that two mounts show counts once. */
		if (koda_set_find(&links->ids, id_of(&id)) != KODA_SET_NONE)
			id = (struct dir_id){ UINT64_MAX - 1, i };
		if (koda_set_add(&links->ids, id_of(&id), NULL) < 0)
			return koda_fail_nomem(links->err);
	}
	return KODA_OK;
}

static bool is_since(const struct koda_dir_snapshot *snapshot, struct timespec time)
{
	return time.tv_sec + COARSE_SECS >= snapshot->since.tv_sec;
}

static unsigned int components(const char *path)
{
	unsigned int count = *path != '\0';

	for (; *path; path++)
		count += *path == '/' && path[1] != '/' && path[1] != '\0';
	return count;
}

/* Tells whether a .git was created since the start, in a directory deeper than the scan went.
 * st_ctime of a directory changes with every use, and stx_btime is not always known. */
static bool is_made_since(const struct koda_dir_snapshot *snapshot, int dir, const struct stat *git)
{
	struct statx more;

	if (!is_since(snapshot, git->st_ctim))
		return false;
	if (!S_ISDIR(git->st_mode) ||
	    statx(dir, ".git", AT_SYMLINK_NOFOLLOW, STATX_BTIME, &more) < 0 ||
	    !(more.stx_mask & STATX_BTIME))
		return true;
	return is_since(snapshot, (struct timespec){ .tv_sec = more.stx_btime.tv_sec });
}

/* Tells whether this .git was in this directory when the command started. */
static int is_known(struct koda_git_submodules *links, int dir, unsigned int level,
		    const struct stat *git, bool *ret_known)
{
	const struct koda_dir_snapshot *snapshot = links->snapshot;
	struct dir_id id;
	struct stat st;
	size_t i;
	int r = index_dirs(links);

	*ret_known = false;
	if (r < 0 || fstat(dir, &st) < 0)
		return r;
	id = (struct dir_id){ st.st_dev, st.st_ino };
	i = koda_set_find(&links->ids, id_of(&id));
	if (i != KODA_SET_NONE)
		*ret_known = snapshot->dirs[i].flags & KODA_DIR_SNAPSHOT_GIT &&
			     snapshot->dirs[i].git_id == koda_dir_snapshot_git_id(git);
	else if (level > snapshot->depth)
		*ret_known = !is_made_since(snapshot, dir, git);
	return KODA_OK;
}

static int add_unread(const struct repository *repository)
{
	if (repository->links->found)
		return KODA_OK;
	return koda_left_behind_add(repository->links->left, repository->worktree, ".git",
				    KODA_LEFT_GITLINK, repository->links->err);
}

static bool was_linked(const struct koda_git_submodules *links, const char *dir)
{
	return koda_set_find(&links->snapshot->gitlinks, koda_span_of(dir)) != KODA_SET_NONE;
}

/* Adds dir if the index has led to the repository in it only since the start. */
static int check_link(const struct repository *repository, struct koda_span path, const char *dir)
{
	struct koda_git_submodules *links = repository->links;
	struct open_how how = { .flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
				.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS |
					   RESOLVE_NO_MAGICLINKS };
	const unsigned int level = repository->level + components(path.ptr);
	koda_auto_fd int fd = -1;
	bool known = false;
	struct stat git;
	int r;

	if (links->dirs == KODA_GIT_SUBMODULES_DIRS || koda_clock_now() >= links->deadline_ns)
		return KODA_E_LIMIT;
	links->dirs++;
	fd = (int)syscall(SYS_openat2, repository->fd, path.ptr, &how, sizeof(how));
	if (fd < 0 || fstatat(fd, ".git", &git, AT_SYMLINK_NOFOLLOW) < 0)
		/* A closed directory may be open when git runs. */
		return errno != EACCES || was_linked(links, dir)
			       ? KODA_OK
			       : koda_left_behind_add(links->left, dir, ".git", KODA_LEFT_GITLINK,
						      links->err);
	if (!koda_git_dir_is_dot_git(fd, &git))
		return KODA_OK;
	r = is_known(links, fd, level, &git, &known);
	if (r < 0 || (known && was_linked(links, dir)))
		return r;
	return koda_left_behind_add(links->left, dir, ".git", KODA_LEFT_GITLINK, links->err);
}

static int see(void *ctx, struct koda_span path)
{
	const struct repository *repository = ctx;
	struct koda_git_submodules *links = repository->links;
	koda_auto_free char *dir = NULL;
	int r;

	if (path.len == 0)
		return add_unread(repository);
	if (path.ptr[path.len - 1] == '/')
		return links->found ? KODA_OK
				    : koda_git_sparse_check(links, repository->fd,
							    repository->worktree, path);
	r = koda_path_join(repository->worktree, path.ptr, &dir, links->err);
	if (r < 0)
		return r;
	if (!links->found)
		return check_link(repository, path, dir);
	r = koda_survey_budget_take_entries(links->budget, 1, dir, links->err);
	if (r == KODA_OK)
		r = koda_survey_budget_take_bytes(links->budget, strlen(dir), dir, links->err);
	if (r < 0)
		return r;
	r = koda_set_add(links->found, koda_span_of(dir), NULL);
	return r < 0 ? koda_fail_room(links->err, r, "the list of submodules") : KODA_OK;
}

/* Reads a file of the git directory; false if it is missing or empty. Links are not followed,
 * because they may lead to hidden files. A file that cannot be read here may be readable for git.
 * */
static bool read_file(struct koda_git_submodules *links, int git_dir, const char *name,
		      struct koda_buf *out, bool *ret_unread)
{
	koda_auto_fd int held = openat(git_dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	koda_auto_fd int fd = -1;

	*ret_unread = held >= 0 || errno != ENOENT;
	out->max = KODA_GIT_SUBMODULES_BYTES - links->bytes;
	if (held < 0 || koda_fd_open_held(held, &fd, NULL) < 0)
		return false;
	*ret_unread = koda_fd_read_all(fd, out, NULL) < 0;
	links->bytes += out->len;
	return !*ret_unread && out->len > 0;
}

/* Walks the shared index of a split index. */
static int walk_shared(struct repository *repository, int git_dir, const char *name,
		       size_t hash_len)
{
	koda_auto_buf struct koda_buf bytes = KODA_BUF_INIT(KODA_GIT_SUBMODULES_BYTES);
	bool unread = false;

	if (!read_file(repository->links, git_dir, name, &bytes, &unread))
		return unread ? add_unread(repository) : KODA_OK;
	return koda_git_index_walk(koda_buf_span(&bytes), hash_len, see, repository, NULL);
}

/* Walks the index for both hash lengths, instead of reading the configuration; with the wrong one
 * the walk finds nothing. */
static int walk_index(struct repository *repository, int git_dir)
{
	static const size_t lens[] = { KODA_GIT_INDEX_SHA1, KODA_GIT_INDEX_SHA256 };
	koda_auto_buf struct koda_buf bytes = KODA_BUF_INIT(KODA_GIT_SUBMODULES_BYTES);
	bool unread = false;
	int r = KODA_OK;

	if (!read_file(repository->links, git_dir, "index", &bytes, &unread))
		return unread ? add_unread(repository) : KODA_OK;
	for (size_t i = 0; i < KODA_ARRAY_LEN(lens) && r == KODA_OK; i++) {
		char shared[KODA_GIT_INDEX_SHARED] = "";

		r = koda_git_index_walk(koda_buf_span(&bytes), lens[i], see, repository, shared);
		if (r == KODA_OK && shared[0])
			r = walk_shared(repository, git_dir, shared, lens[i]);
	}
	return r;
}

/* Opens the git directory of a work tree; -1 if it is gone or closed. */
static int open_git_dir(const char *worktree, bool *ret_closed)
{
	koda_auto_strv struct koda_strv passed = KODA_STRV_INIT;
	koda_auto_free char *dot_git = NULL;
	koda_auto_free char *dir = NULL;
	int fd;

	*ret_closed = koda_path_join(worktree, ".git", &dot_git, NULL) < 0;
	if (*ret_closed)
		return -1;
	/* Most are directories; following a pointer costs ten times as much. */
	fd = open(dot_git, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0)
		return fd;
	*ret_closed = koda_git_file_follow(dot_git, &dir, &passed, NULL) < 0;
	if (*ret_closed || !dir)
		return -1;
	fd = open(dir, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	*ret_closed = fd < 0 && errno != ENOENT;
	return fd;
}

/* Tells whether a file has changed. A link counts as changed, because its target may have. */
static bool is_new_file(const struct koda_dir_snapshot *snapshot, const struct stat *st)
{
	return !S_ISREG(st->st_mode) || is_since(snapshot, st->st_ctim);
}

/* Tells whether a shared index has changed. The index itself may be unchanged: git compares its
 * hash only with the last bytes of the shared index. */
static bool has_new_shared(const struct koda_dir_snapshot *snapshot, int git_dir)
{
	koda_auto_fd int fd = openat(git_dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	const struct dirent *entry;
	size_t left = ENTRIES_MAX;
	bool is_new = false;
	struct stat st;

	if (!dir)
		return true;
	(void)koda_take_fd(&fd);
	while (!is_new && (entry = koda_inode_search_next(dir))) {
		is_new = left-- == 0;
		if (strncmp(entry->d_name, "sharedindex.", strlen("sharedindex.")) == 0)
			is_new = fstatat(git_dir, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
				 is_new_file(snapshot, &st);
	}
	is_new = is_new || errno != 0;
	(void)closedir(dir);
	return is_new;
}

/* Tells whether the index has changed: though no directory is new, it may lead to one of an earlier
 * command, or to one deeper than the scan. */
static bool has_new_index(const struct koda_dir_snapshot *snapshot, int git_dir)
{
	struct stat st;

	if (fstatat(git_dir, "index", &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno != ENOENT;
	return is_new_file(snapshot, &st) || has_new_shared(snapshot, git_dir);
}

int koda_git_submodules_check(struct koda_git_submodules *links, size_t i, bool touched)
{
	koda_auto_buf struct koda_buf path = KODA_BUF_INIT(SIZE_MAX / 2);
	struct repository repository = { .links = links, .fd = -1 };
	koda_auto_fd int worktree = -1;
	koda_auto_fd int git_dir = -1;
	bool closed = false;
	int r = koda_dir_snapshot_path(links->snapshot, i, &path, links->err);

	if (r < 0)
		return r;
	repository.worktree = path.ptr;
	git_dir = open_git_dir(path.ptr, &closed);
	if (git_dir < 0)
		return closed ? add_unread(&repository) : KODA_OK;
	if (!touched && !has_new_index(links->snapshot, git_dir))
		return KODA_OK;
	worktree = open(path.ptr, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (worktree < 0)
		return errno == ENOENT ? KODA_OK : add_unread(&repository);
	for (uint32_t up = links->snapshot->dirs[i].parent; up != KODA_DIR_SNAPSHOT_TOP;
	     up = links->snapshot->dirs[up].parent)
		repository.level++;
	repository.fd = worktree;
	r = walk_index(&repository, git_dir);
	/* Beyond the bounds the repository as a whole is reported. */
	return r == KODA_E_LIMIT && !links->found ? add_unread(&repository) : r;
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

int koda_git_submodules_note(struct koda_dir_snapshot *snapshot, struct koda_survey_budget *budget,
			     struct koda_error *err)
{
	koda_auto_free bool *outer = find_outer(snapshot);
	struct koda_git_submodules links = {
		.snapshot = snapshot, .found = &snapshot->gitlinks, .budget = budget, .err = err
	};
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
	return r;
}

void koda_git_submodules_clear(struct koda_git_submodules *links)
{
	koda_set_clear(&links->ids);
}
