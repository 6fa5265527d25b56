/* SPDX-License-Identifier: MIT */
/* T-30 */
#include "run/world.h"

#include "base/diag.h"
#include "base/fd.h"
#include "base/path.h"
#include "run/gitdir.h"
#include "run/scan.h"
#include "run/search.h"
#include "run/site.h"
#include "wire/hold.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* Only what is known to count is believed: others say 1 or 2 for every directory, or what some
 * server says. */
static bool counts_subdirs(struct koda_queue *queue, int fd, dev_t dev)
{
	bool counts;

	for (size_t i = 0; i < queue->kind_count; i++)
		if (queue->kinds[i].dev == dev)
			return queue->kinds[i].counts;
	counts = koda_search_is_plain(fd);
	if (queue->kind_count < KODA_ARRAY_LEN(queue->kinds))
		queue->kinds[queue->kind_count++] =
			(struct koda_kind){ dev, counts, koda_search_is_fine(fd) };
	return counts;
}

/* Has every change there another time than what was looked at before it? */
static bool is_fine(const struct koda_queue *queue, dev_t dev)
{
	for (size_t i = 0; i < queue->kind_count; i++)
		if (queue->kinds[i].dev == dev)
			return queue->kinds[i].fine;
	return false;
}

static bool is_earlier(struct timespec a, struct timespec b)
{
	return a.tv_sec < b.tv_sec || (a.tv_sec == b.tv_sec && a.tv_nsec < b.tv_nsec);
}

static int note(struct koda_strv *list, const char *dir, const char *name, struct koda_error *err)
{
	char *path = NULL;
	int r = koda_path_join(dir, name, &path, err);

	return r < 0 ? r : koda_strv_take(list, path, err);
}

/* A command that runs beside us may make directories after they were counted, to be found instead
 * of others. Every such change is an attribute change, whose time nobody can set. One that was
 * under way when the scan began may have its time from before, and be counted later, as when ext4
 * waits for its journal in between. Whoever reads entries waits for the end of that, and any other
 * change has a later time: so it is seen by the count. Where that is told finely, later is what was
 * not there at the first look; elsewhere, what is not from before the scan. */
static bool is_settled(const struct koda_queue *queue, int fd, const struct stat *before)
{
	struct stat st;

	if (fstat(fd, &st) < 0 || st.st_nlink != before->st_nlink)
		return false;
	return is_earlier(st.st_ctim, queue->since) ||
	       (is_fine(queue, st.st_dev) && st.st_ctim.tv_sec == before->st_ctim.tv_sec &&
		st.st_ctim.tv_nsec == before->st_ctim.tv_nsec &&
		st.st_ctim.tv_nsec != 0); /* as where only seconds are kept */
}

/* "." and the entry in the parent, then one per subdirectory. */
#define OWN_LINKS 2

/* Is it a directory? Not every file system tells with the name. */
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
		return koda_site_check_unseen_in(path, entry->d_name, errno, err);
	return KODA_OK;
}

int koda_scan_subdirs(struct koda_queue *queue, int fd, const char *path,
		      const struct stat *counted, struct koda_error *err)
{
	size_t expected = counted ? (size_t)counted->st_nlink - OWN_LINKS : SIZE_MAX;
	koda_auto_fd int own = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	DIR *dir = own >= 0 ? fdopendir(own) : NULL;
	const struct dirent *entry;
	int r = KODA_OK;

	if (!dir && errno == ENOMEM)
		return koda_fail_nomem(err);
	if (!dir)
		return koda_fail_at(err, KODA_E_SYS, errno, path, "cannot read the directory");
	(void)koda_take_fd(&own);
	while (expected > 0 && r == KODA_OK && (entry = koda_search_next(dir))) {
		bool is_dir = false;

		r = see_type(fd, path, entry, &is_dir, err);
		if (!is_dir || strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		if (--expected == 0 && !is_settled(queue, fd, counted))
			expected = SIZE_MAX;
		if (strcmp(entry->d_name, ".git") != 0)
			r = note(&queue->dirs, path, entry->d_name, err);
	}
	if (expected > 0 && r == KODA_OK && errno != 0)
		r = koda_fail_at(err, KODA_E_SYS, errno, path, "cannot read the directory");
	(void)closedir(dir);
	return r;
}

/* Is the git directory closed to us? As our own the command could open it, and what is in it cannot
 * be told, nor held in its place. */
static bool is_closed_git(int dir, const struct stat *git)
{
	return S_ISDIR(git->st_mode) && (git->st_mode & 0500) != 0500 && git->st_uid == geteuid() &&
	       faccessat(dir, ".git", R_OK | X_OK, AT_EACCESS) < 0;
}

static int note_git(const struct koda_found *found, const char *path, int fd,
		    const struct stat *git, struct koda_error *err)
{
	int r = is_closed_git(fd, git) ? note(found->closed, path, ".git", err) : KODA_OK;

	if (S_ISREG(git->st_mode) && git->st_nlink > 1 && found->shared)
		*found->shared = true;
	return r < 0 ? r
		     : note(S_ISDIR(git->st_mode) ? found->git_dirs : found->git_files, path,
			    ".git", err);
}

int koda_scan_fail_many(const char *dir, struct koda_error *err)
{
	return koda_fail_at(err, KODA_E_LIMIT, 0, dir,
			    "more than %d directories to look at for repositories; remove some, or "
			    "name a project root with fewer",
			    KODA_SCAN_MAX);
}

int koda_scan_note_closed(const struct koda_found *found, const char *path, const struct stat *st,
			  struct koda_error *err)
{
	return st->st_uid == geteuid() ? koda_strv_add(found->closed, path, err) : KODA_OK;
}

int koda_scan_open(const struct koda_found *found, const char *path, int *ret_fd,
		   struct koda_error *err)
{
	struct stat st;

	*ret_fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (*ret_fd >= 0)
		return KODA_OK;
	if (errno == EACCES && lstat(path, &st) == 0)
		return koda_scan_note_closed(found, path, &st, err);
	/* What it is in was open when it was found, or is a git directory that may be anywhere. */
	if (errno == EACCES)
		return koda_site_check_closed(path, err);
	if (errno == ENOENT || errno == ENOTDIR || errno == ELOOP)
		return KODA_OK;
	return koda_fail_at(err, KODA_E_SYS, errno, path, "cannot look for repositories");
}

/* T-30. A directory that git obeys itself, without a work tree; closed, it may be one. */
static int note_bare(const struct koda_found *found, const char *path, int fd, size_t subdirs,
		     struct koda_error *err)
{
	int is = subdirs >= 2 ? koda_gitdir_is_at(fd, err) : KODA_GITDIR_NO;

	if (is == KODA_GITDIR_NO)
		is = koda_gitdir_is_configured_at(fd, err);
	if (is < 0)
		koda_error_within(err, path);
	return is > 0 ? koda_strv_add(found->git_dirs, path, err) : is;
}

/* One directory: is there a .git, and what is below? */
static int scan_dir(struct koda_queue *queue, const char *path, bool descend,
		    const struct koda_found *found, struct koda_error *err)
{
	koda_auto_fd int fd = -1;
	size_t expected = SIZE_MAX;
	struct stat git;
	struct stat st;
	bool has_git;
	int r = koda_scan_open(found, path, &fd, err);

	if (r < 0 || fd < 0)
		return r;
	if (fstat(fd, &st) < 0)
		return koda_fail_at(err, KODA_E_SYS, errno, path, "cannot look for repositories");
	has_git = fstatat(fd, ".git", &git, AT_SYMLINK_NOFOLLOW) == 0;
	/* It can be listed, but nothing in it looked at. */
	if (!has_git && errno == EACCES)
		return koda_scan_note_closed(found, path, &st, err);
	if (!has_git && errno != ENOENT)
		return koda_fail_at(err, KODA_E_SYS, errno, path, "cannot look for repositories");
	/* What a run that was killed has left is nobody's repository. */
	has_git = has_git && !koda_hold_is_node(git.st_mode);
	if (has_git)
		r = note_git(found, path, fd, &git, err);
	if (st.st_nlink >= OWN_LINKS && counts_subdirs(queue, fd, st.st_dev))
		expected = st.st_nlink - OWN_LINKS;
	if (r == KODA_OK)
		r = note_bare(found, path, fd, expected, err);
	if (r < 0 || !descend || expected == 0)
		return r;
	if (expected == 1 && has_git && S_ISDIR(git.st_mode) && is_settled(queue, fd, &st))
		return r; /* just that */
	return koda_scan_subdirs(queue, fd, path, expected == SIZE_MAX ? NULL : &st, err);
}

int koda_world_scan(const char *root, unsigned int depth, const struct koda_found *found,
		    struct koda_error *err)
{
	koda_auto_set struct koda_set known = KODA_SET_INIT((size_t)256 << 20);
	struct koda_queue queue = { .dirs = KODA_STRV_INIT };
	unsigned int level = 0;
	/* The clock that file systems go by. */
	int r = clock_gettime(CLOCK_REALTIME_COARSE, &queue.since) < 0
			? koda_fail(err, KODA_E_SYS, errno, "cannot read the clock")
			: koda_strv_add(&queue.dirs, root, err);

	queue.level_end = queue.dirs.len;
	while (r == KODA_OK && queue.next < queue.dirs.len) {
		if (queue.next == queue.level_end) {
			level++;
			queue.level_end = queue.dirs.len;
		}
		if (queue.dirs.len > KODA_SCAN_MAX)
			r = koda_scan_fail_many(root, err);
		else
			r = scan_dir(&queue, queue.dirs.items[queue.next++], level < depth, found,
				     err);
	}
	koda_strv_clear(&queue.dirs);
	return r < 0 ? r : koda_scan_kin(found, &known, err);
}
