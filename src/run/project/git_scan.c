/* SPDX-License-Identifier: MIT */
/* T-30. Walks directories, breadth first, in search of repositories. */
#include "run/project/git_scan.h"

#include "base/error.h"
#include "base/fd.h"
#include "base/path.h"
#include "run/project/git_dir.h"
#include "run/project/git_scan_queue.h"
#include "run/project/inode_search.h"
#include "run/project/policy_links.h"
#include "run/project/site.h"
#include "wire/placeholder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Tells whether st_nlink counts subdirectories. Some file systems return 1 or 2 for every
 * directory, or whatever a server says, so only known ones are relied on. */
static bool counts_subdirs(struct koda_git_scan_queue *queue, int fd, dev_t dev)
{
	bool counts;

	for (size_t i = 0; i < queue->kind_count; i++)
		if (queue->kinds[i].dev == dev)
			return queue->kinds[i].counts;
	counts = koda_inode_search_is_plain(fd);
	if (queue->kind_count < KODA_ARRAY_LEN(queue->kinds))
		queue->kinds[queue->kind_count++] =
			(struct koda_git_scan_kind){ dev, counts, koda_inode_search_is_fine(fd) };
	return counts;
}

/* Tells whether every change has a new st_ctime on this file system. */
static bool is_fine(const struct koda_git_scan_queue *queue, dev_t dev)
{
	for (size_t i = 0; i < queue->kind_count; i++)
		if (queue->kinds[i].dev == dev)
			return queue->kinds[i].fine;
	return false;
}

/* How long a change that began before the scan may take. */
#define LATELY_SECONDS 10

static bool is_earlier(struct timespec a, struct timespec b)
{
	return a.tv_sec < b.tv_sec || (a.tv_sec == b.tv_sec && a.tv_nsec < b.tv_nsec);
}

int koda_git_scan_note(const struct koda_git_found *found, struct koda_strv *list, const char *path,
		       struct koda_error *err)
{
	int r = koda_survey_budget_take_bytes(found->budget,
					      KODA_SURVEY_BUDGET_COPIES * strlen(path), path, err);

	return r < 0 ? r : koda_strv_add(list, path, err);
}

static int note_in(const struct koda_git_found *found, struct koda_strv *list, const char *dir,
		   const char *name, struct koda_error *err)
{
	koda_auto_free char *path = NULL;
	int r = koda_path_join(dir, name, &path, err);

	return r < 0 ? r : koda_git_scan_note(found, list, path, err);
}

/* Tells whether st_nlink can be relied on, though a command that runs at the same time may create
 * directories after they were counted, to be found instead of others. Every such change sets
 * st_ctime, which no process can choose. A change that was under way when the scan began may have
 * an earlier time and be counted later, as when ext4 waits for its journal. Reading the directory
 * waits for the end of such a change, and any other change has a later time. With fine times, later
 * means other than at the first stat(); elsewhere, not before the scan. */
static bool is_settled(const struct koda_git_scan_queue *queue, int fd, const struct stat *before)
{
	const struct timespec lately = { .tv_sec = queue->since.tv_sec - LATELY_SECONDS };
	struct stat st;
	char none;

	/* rmdir() lowers st_nlink before it sets st_ctime. getdents64() waits for its end; the
	 * buffer has no room for an entry, so none is read. */
	if (!is_earlier(before->st_ctim, lately))
		(void)syscall(SYS_getdents64, fd, &none, sizeof(none));
	if (fstat(fd, &st) < 0 || st.st_nlink != before->st_nlink)
		return false;
	return is_earlier(st.st_ctim, queue->since) ||
	       (is_fine(queue, st.st_dev) && st.st_ctim.tv_sec == before->st_ctim.tv_sec &&
		st.st_ctim.tv_nsec == before->st_ctim.tv_nsec &&
		st.st_ctim.tv_nsec != 0); /* file systems that keep only seconds */
}

/* "." and the entry in the parent, then one per subdirectory. */
#define OWN_LINKS 2

/* Tells whether an entry is a directory. Not every file system fills in d_type. */
static int see_type(int fd, const char *path, const struct dirent *entry, bool *ret_is_dir,
		    struct koda_error *err)
{
	struct stat st;

	*ret_is_dir = entry->d_type == DT_DIR;
	if (entry->d_type != DT_UNKNOWN)
		return KODA_OK;
	if (fstatat(fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0)
		*ret_is_dir = S_ISDIR(st.st_mode);
	else
		return koda_policy_links_check_unseen_in(path, entry->d_name, errno, err);
	return KODA_OK;
}

/* Notes the repository of another tool than git. */
static void note_name(struct koda_git_scan_queue *queue, uint32_t i, const char *name)
{
	for (size_t n = 0; n < KODA_DIR_SNAPSHOT_OTHERS; n++)
		if (strcmp(name, koda_dir_snapshot_others[n].name) == 0)
			queue->dirs.dirs[i].flags |= koda_dir_snapshot_others[n].flag;
}

/* Adds the entries that are directories. */
static int read_subdirs(struct koda_git_scan_queue *queue, DIR *dir, const struct stat *counted,
			struct koda_error *err)
{
	size_t expected = counted ? (size_t)counted->st_nlink - OWN_LINKS : SIZE_MAX;
	const uint32_t parent = (uint32_t)queue->next - 1;
	const char *path = queue->path.ptr;
	const struct dirent *entry;
	int r = KODA_OK;

	while (expected > 0 && r == KODA_OK && (entry = koda_inode_search_next(dir))) {
		bool is_dir = false;

		r = koda_survey_budget_take_entries(queue->budget, 1, path, err);
		if (r == KODA_OK)
			r = see_type(dirfd(dir), path, entry, &is_dir, err);
		if (!is_dir || strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		if (--expected == 0 && !is_settled(queue, dirfd(dir), counted))
			expected = SIZE_MAX;
		if (entry->d_name[0] == '.')
			note_name(queue, parent, entry->d_name);
		if (r == KODA_OK && strcmp(entry->d_name, ".git") != 0)
			r = koda_dir_snapshot_add(&queue->dirs, parent, entry->d_name,
						  queue->budget, err);
	}
	if (expected > 0 && r == KODA_OK && errno != 0)
		r = koda_fail_at(err, KODA_E_SYS, errno, path, "cannot read the directory");
	return r;
}

int koda_git_scan_subdirs(struct koda_git_scan_queue *queue, int fd, const struct stat *counted,
			  struct koda_error *err)
{
	koda_auto_fd int own = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	DIR *dir = own >= 0 ? fdopendir(own) : NULL;
	int r;

	if (!dir && errno == ENOMEM)
		return koda_fail_nomem(err);
	if (!dir)
		return koda_fail_at(err, KODA_E_SYS, errno, queue->path.ptr,
				    "cannot read the directory");
	(void)koda_take_fd(&own);
	r = read_subdirs(queue, dir, counted, err);
	(void)closedir(dir);
	return r;
}

/* Tells whether the user owns the git directory and it is closed. The command could open it, and
 * its contents cannot be examined or protected. */
static bool is_closed_git(int dir, const struct stat *git)
{
	return S_ISDIR(git->st_mode) && (git->st_mode & 0500) != 0500 && git->st_uid == geteuid() &&
	       faccessat(dir, ".git", R_OK | X_OK, AT_EACCESS) < 0;
}

static int note_git(const struct koda_git_found *found, const char *path, int fd,
		    const struct stat *git, struct koda_error *err)
{
	int r = is_closed_git(fd, git) ? note_in(found, found->closed, path, ".git", err) : KODA_OK;

	if (S_ISREG(git->st_mode) && git->st_nlink > 1 && found->shared)
		*found->shared = true;
	return r < 0 ? r
		     : note_in(found, S_ISDIR(git->st_mode) ? found->git_dirs : found->git_files,
			       path, ".git", err);
}

int koda_git_scan_note_closed(const struct koda_git_found *found, const char *path,
			      const struct stat *st, struct koda_error *err)
{
	return st->st_uid == geteuid() ? koda_git_scan_note(found, found->closed, path, err)
				       : KODA_OK;
}

int koda_git_scan_open(const struct koda_git_found *found, const char *path, int *ret_fd,
		       struct koda_error *err)
{
	struct stat st;

	*ret_fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (*ret_fd >= 0)
		return KODA_OK;
	if (errno == EACCES && lstat(path, &st) == 0)
		return koda_git_scan_note_closed(found, path, &st, err);
	/* Its parent was open when it was found, or is a git directory at any path. */
	if (errno == EACCES)
		return koda_policy_links_check_closed(path, err);
	if (errno == ENOENT || errno == ENOTDIR || errno == ELOOP)
		return KODA_OK;
	return koda_fail_at(err, KODA_E_SYS, errno, path, "cannot look for repositories");
}

/* T-30. Notes a bare repository. A closed directory may be one. */
static int note_bare(struct koda_git_scan_queue *queue, const struct koda_git_found *found, int fd,
		     size_t subdirs, struct koda_error *err)
{
	const char *path = queue->path.ptr;
	int is = subdirs >= 2 ? koda_git_dir_is_at(fd, err) : KODA_GIT_DIR_NO;

	/* A directory that only has a configuration may become one. */
	if (is > 0)
		queue->dirs.dirs[queue->next - 1].flags |= KODA_DIR_SNAPSHOT_BARE;
	if (is == KODA_GIT_DIR_NO)
		is = koda_git_dir_is_configured_at(fd, err);
	if (is < 0)
		koda_error_within(err, path);
	return is > 0 ? koda_git_scan_note(found, found->git_dirs, path, err) : is;
}

/* Keeps a directory in the snapshot. git: its .git, NULL if it has none. */
static void note_dir(struct koda_git_scan_queue *queue, const struct stat *st,
		     const struct stat *git)
{
	size_t i = queue->next - 1;

	koda_dir_snapshot_note(&queue->dirs, i, st,
			       (is_fine(queue, st->st_dev) ? KODA_DIR_SNAPSHOT_FINE : 0U) |
				       (git ? KODA_DIR_SNAPSHOT_GIT : 0U));
	queue->dirs.dirs[i].git_id = git ? koda_dir_snapshot_git_id(git) : 0;
}

/* Looks for repositories of other tools where the entries are not read. */
static void note_others(struct koda_git_scan_queue *queue, int fd)
{
	struct stat st;

	for (size_t n = 0; n < KODA_DIR_SNAPSHOT_OTHERS; n++)
		if (fstatat(fd, koda_dir_snapshot_others[n].name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		    S_ISDIR(st.st_mode))
			queue->dirs.dirs[queue->next - 1].flags |= koda_dir_snapshot_others[n].flag;
}

/* Scans one directory: its .git and its subdirectories. */
static int scan_dir(struct koda_git_scan_queue *queue, bool descend,
		    const struct koda_git_found *found, struct koda_error *err)
{
	const char *path = queue->path.ptr;
	koda_auto_fd int fd = -1;
	size_t expected = SIZE_MAX;
	struct stat git;
	struct stat st;
	bool has_git;
	int r = koda_git_scan_open(found, path, &fd, err);

	if (r < 0 || fd < 0)
		return r;
	if (fstat(fd, &st) < 0)
		return koda_fail_at(err, KODA_E_SYS, errno, path, "cannot look for repositories");
	has_git = fstatat(fd, ".git", &git, AT_SYMLINK_NOFOLLOW) == 0;
	/* Mode r--: it can be read, but no entry can be examined. */
	if (!has_git && errno == EACCES)
		return koda_git_scan_note_closed(found, path, &st, err);
	if (!has_git && errno != ENOENT)
		return koda_fail_at(err, KODA_E_SYS, errno, path, "cannot look for repositories");
	/* A placeholder that a killed run has left is no repository. */
	has_git = has_git && !koda_placeholder_is(fd, ".git", &git);
	if (has_git)
		r = note_git(found, path, fd, &git, err);
	if (st.st_nlink >= OWN_LINKS && counts_subdirs(queue, fd, st.st_dev))
		expected = st.st_nlink - OWN_LINKS;
	/* T-92. A .git that git does not obey counts as none. */
	note_dir(queue, &st, has_git && koda_git_dir_is_dot_git(fd, &git) ? &git : NULL);
	if (expected != SIZE_MAX && (descend || expected == 0))
		queue->dirs.dirs[queue->next - 1].flags |= KODA_DIR_SNAPSHOT_COUNTED;
	if (r == KODA_OK)
		r = note_bare(queue, found, fd, expected, err);
	if (r < 0 || expected == 0)
		return r;
	if (!descend) {
		note_others(queue, fd);
		return r;
	}
	if (expected == 1 && has_git && S_ISDIR(git.st_mode) && is_settled(queue, fd, &st))
		return r; /* the caller wants only this directory */
	return koda_git_scan_subdirs(queue, fd, expected == SIZE_MAX ? NULL : &st, err);
}

void koda_git_scan_queue_clear(struct koda_git_scan_queue *queue)
{
	koda_dir_snapshot_clear(&queue->dirs);
	koda_buf_clear(&queue->path);
}

/* Fails because the budget is spent; names the directory that has most of those found. */
static int fail_many(struct koda_git_scan_queue *queue, struct koda_error *err)
{
	size_t fullest = koda_dir_snapshot_fullest(&queue->dirs, queue->top);

	if (koda_dir_snapshot_path(&queue->dirs, fullest, &queue->path, err) < 0)
		return KODA_E_NOMEM;
	return koda_survey_budget_take_dir(queue->budget, queue->path.ptr, err);
}

int koda_git_scan_queue_next(struct koda_git_scan_queue *queue, bool *ret_is,
			     struct koda_error *err)
{
	int r;

	*ret_is = queue->next < queue->dirs.count;
	if (!*ret_is)
		return KODA_OK;
	if (queue->budget->dirs + (queue->dirs.count - queue->next) > KODA_SURVEY_BUDGET_DIRS) {
		queue->budget->dirs = KODA_SURVEY_BUDGET_DIRS;
		return fail_many(queue, err);
	}
	r = koda_dir_snapshot_path(&queue->dirs, queue->next++, &queue->path, err);
	return r < 0 ? r : koda_survey_budget_take_dir(queue->budget, queue->path.ptr, err);
}

static int scan_all(struct koda_git_scan_queue *queue, unsigned int depth,
		    const struct koda_git_found *found, struct koda_error *err)
{
	unsigned int level = 0;
	bool is_one = true;
	int r = KODA_OK;

	queue->level_end = queue->dirs.count;
	while (r == KODA_OK && is_one) {
		if (queue->next == queue->level_end) {
			level++;
			queue->level_end = queue->dirs.count;
		}
		r = koda_git_scan_queue_next(queue, &is_one, err);
		if (r == KODA_OK && is_one)
			r = scan_dir(queue, level < depth, found, err);
	}
	return r;
}

static void swap(struct koda_dir_snapshot *a, struct koda_dir_snapshot *b)
{
	struct koda_dir_snapshot kept = *a;

	*a = *b;
	*b = kept;
}

int koda_git_scan(const char *root, unsigned int depth, const struct koda_git_found *found,
		  struct koda_error *err)
{
	koda_auto_queue struct koda_git_scan_queue queue = KODA_QUEUE_INIT(found->budget);
	int r = KODA_OK;

	/* The clock of file systems' timestamps. */
	if (clock_gettime(CLOCK_REALTIME_COARSE, &queue.since) < 0)
		return koda_fail(err, KODA_E_SYS, errno, "cannot read the clock");
	if (found->kept)
		swap(&queue.dirs, found->kept);
	queue.dirs.names.max = KODA_SURVEY_BUDGET_BYTES;
	if (queue.dirs.count == 0)
		queue.dirs.since = queue.since;
	queue.dirs.depth = depth;
	queue.top = queue.next = queue.dirs.count;
	r = koda_dir_snapshot_add(&queue.dirs, KODA_DIR_SNAPSHOT_TOP, root, queue.budget, err);
	if (r == KODA_OK)
		r = scan_all(&queue, depth, found, err);
	if (found->kept)
		swap(&queue.dirs, found->kept);
	return r;
}
