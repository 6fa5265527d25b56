/* SPDX-License-Identifier: MIT */
/* T-30 */
#include "run/world.h"

#include "base/diag.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/set.h"
#include "run/gitdir.h"
#include "run/gitlink.h"
#include "run/search.h"
#include "run/site.h"
#include "wire/hold.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Directories looked at in one scan; more than this is told, not skipped. */
#define SCAN_MAX 200000

/* One file system, and whether a directory's link count there is two and one for each
 * subdirectory. */
struct kind {
	dev_t dev;
	bool counts;
};

/* Directories still to be looked at, breadth first. */
struct queue {
	struct koda_strv dirs;
	size_t next;
	size_t level_end;     /* those before it are on the current level */
	struct kind kinds[8]; /* of the file systems met; one beyond these is asked each time */
	size_t kind_count;
	struct timespec since; /* when the scan began */
};

/* Only what is known to count is believed: others say 1 or 2 for every directory, or what some
 * server says. */
static bool counts_subdirs(struct queue *queue, int fd, dev_t dev)
{
	bool counts;

	for (size_t i = 0; i < queue->kind_count; i++)
		if (queue->kinds[i].dev == dev)
			return queue->kinds[i].counts;
	counts = koda_search_is_plain(fd);
	if (queue->kind_count < KODA_ARRAY_LEN(queue->kinds))
		queue->kinds[queue->kind_count++] = (struct kind){ dev, counts };
	return counts;
}

static int note(struct koda_strv *list, const char *dir, const char *name, struct koda_error *err)
{
	char *path = NULL;
	int r = koda_path_join(dir, name, &path, err);

	return r < 0 ? r : koda_strv_take(list, path, err);
}

/* NULL with errno 0 at the end. */
static const struct dirent *next_entry(DIR *dir)
{
	errno = 0;
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): the stream is the caller's own */
	return readdir(dir);
}

/* A command that runs beside us may make directories after they were counted, to be found instead
 * of others. Every such change is an attribute change, whose time nobody can set. One that was
 * under way when the scan began may have its time from before, and be counted later, as when ext4
 * waits for its journal in between. Whoever reads entries waits for the end of that, and any other
 * change has a later time: so it is seen by the count. */
static bool is_settled(const struct queue *queue, int fd, nlink_t links)
{
	struct stat st;

	return fstat(fd, &st) == 0 && st.st_nlink == links &&
	       (st.st_ctim.tv_sec < queue->since.tv_sec ||
		(st.st_ctim.tv_sec == queue->since.tv_sec &&
		 st.st_ctim.tv_nsec < queue->since.tv_nsec));
}

/* "." and the entry in the parent, then one per subdirectory. */
#define OWN_LINKS 2

/* Adds the subdirectories of dir. expected is how many there are, where the file system tells by
 * its link count; reading stops when they are found. */
static int read_subdirs(struct queue *queue, int fd, const char *path, size_t expected,
			struct koda_error *err)
{
	const nlink_t links = (nlink_t)expected + OWN_LINKS;
	koda_auto_fd int own = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	DIR *dir = own >= 0 ? fdopendir(own) : NULL;
	const struct dirent *entry;
	int r = KODA_OK;

	if (!dir && errno == ENOMEM)
		return koda_fail_nomem(err);
	if (!dir)
		return koda_fail_at(err, KODA_E_SYS, errno, path, "cannot read the directory");
	(void)koda_take_fd(&own);
	while (expected > 0 && r == KODA_OK && (entry = next_entry(dir))) {
		struct stat st;
		bool is_dir = entry->d_type == DT_DIR;

		if (entry->d_type == DT_UNKNOWN)
			is_dir = fstatat(fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
				 S_ISDIR(st.st_mode);
		if (!is_dir || strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		if (--expected == 0 && !is_settled(queue, fd, links))
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

static int fail_many(const char *dir, struct koda_error *err)
{
	return koda_fail_at(err, KODA_E_LIMIT, 0, dir,
			    "more than %d directories to look at for repositories; remove some, or "
			    "name a project root with fewer",
			    SCAN_MAX);
}

/* Closed, but the user's own: the command could open it. It stays as it is. */
static int note_closed(const struct koda_found *found, const char *path, const struct stat *st,
		       struct koda_error *err)
{
	return st->st_uid == geteuid() ? koda_strv_add(found->closed, path, err) : KODA_OK;
}

/* Opens a directory to look into it; -1 if it is closed, or gone. */
static int open_dir(const struct koda_found *found, const char *path, int *ret_fd,
		    struct koda_error *err)
{
	struct stat st;

	*ret_fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (*ret_fd >= 0)
		return KODA_OK;
	if (errno == EACCES && lstat(path, &st) == 0)
		return note_closed(found, path, &st, err);
	/* What it is in was open when it was found, or is a git directory that may be anywhere. */
	if (errno == EACCES)
		return koda_site_check_closed(path, err);
	if (errno == ENOENT || errno == ENOTDIR || errno == ELOOP)
		return KODA_OK;
	return koda_fail_at(err, KODA_E_SYS, errno, path, "cannot look for repositories");
}

/* One directory: is there a .git, and what is below? */
static int scan_dir(struct queue *queue, const char *path, bool descend,
		    const struct koda_found *found, struct koda_error *err)
{
	koda_auto_fd int fd = -1;
	size_t expected = SIZE_MAX;
	struct stat git;
	struct stat st;
	bool has_git;
	int r = open_dir(found, path, &fd, err);

	if (r < 0 || fd < 0)
		return r;
	if (fstat(fd, &st) < 0)
		return koda_fail_at(err, KODA_E_SYS, errno, path, "cannot look for repositories");
	has_git = fstatat(fd, ".git", &git, AT_SYMLINK_NOFOLLOW) == 0;
	/* It can be listed, but nothing in it looked at. */
	if (!has_git && errno == EACCES)
		return note_closed(found, path, &st, err);
	if (!has_git && errno != ENOENT)
		return koda_fail_at(err, KODA_E_SYS, errno, path, "cannot look for repositories");
	/* What a run that was killed has left is nobody's repository. */
	has_git = has_git && !koda_hold_is_node(git.st_mode);
	if (has_git)
		r = note_git(found, path, fd, &git, err);
	if (st.st_nlink >= OWN_LINKS && counts_subdirs(queue, fd, st.st_dev))
		expected = st.st_nlink - OWN_LINKS;
	/* T-30. A directory that git obeys itself, without a work tree; closed, it may be one. */
	if (r == KODA_OK && ((expected >= 2 && (koda_gitdir_is_at(fd) || errno == EACCES)) ||
			     koda_gitdir_is_configured_at(fd) || errno == EACCES))
		r = koda_strv_add(found->git_dirs, path, err);
	if (r < 0 || !descend || expected == 0)
		return r;
	if (expected == 1 && has_git && S_ISDIR(git.st_mode) && is_settled(queue, fd, st.st_nlink))
		return r; /* just that */
	return read_subdirs(queue, fd, path, expected, err);
}

/* Adds dir, which may be NULL, to the git directories unless it is there. */
static int add_git_dir(const struct koda_found *found, struct koda_set *known, const char *dir,
		       struct koda_error *err)
{
	if (!dir || koda_set_find(known, koda_span_of(dir)) != KODA_SET_NONE)
		return KODA_OK;
	if (koda_set_add(known, koda_span_of(dir), NULL) < 0)
		return koda_fail_nomem(err);
	return koda_strv_add(found->git_dirs, dir, err);
}

static int add_links(const struct koda_found *found, const struct koda_strv *links,
		     struct koda_error *err)
{
	int r = KODA_OK;

	for (size_t i = 0; i < links->len && r == KODA_OK; i++)
		if (!koda_strv_has(found->git_files, links->items[i]))
			r = koda_strv_add(found->git_files, links->items[i], err);
	return r;
}

/* Begins at name in the git directory, or where it leads as a link, as git does. */
static int begin_below_git(struct queue *queue, const struct koda_found *found, const char *git_dir,
			   const char *name, struct koda_error *err)
{
	koda_auto_strv struct koda_strv links = KODA_STRV_INIT;
	koda_auto_free char *path = NULL;
	koda_auto_free char *real = NULL;
	struct stat st;
	int r = koda_path_join(git_dir, name, &path, err);

	if (r < 0)
		return r;
	/* What is closed may be a link. */
	if (lstat(path, &st) < 0)
		return errno == EACCES ? koda_site_check_closed(path, err)
				       : koda_strv_add(&queue->dirs, path, err);
	if (!S_ISLNK(st.st_mode))
		return koda_strv_add(&queue->dirs, path, err);
	/* A directory on the way may be closed, which the command could open. */
	if (stat(path, &st) < 0)
		return errno == ENOENT || errno == ENOTDIR || errno == ELOOP
			       ? KODA_OK
			       : koda_fail_at(err, KODA_E_SYS, errno, path,
					      "is a link, and where it leads cannot be looked at");
	r = koda_path_trace(path, &real, &links, err);
	if (r == KODA_OK)
		r = koda_site_check_seen(real, path, err);
	if (r == KODA_OK)
		r = koda_strv_add(&queue->dirs, real, err);
	return r < 0 ? r : add_links(found, &links, err);
}

/* T-12. What git obeys may be in there, and may be links: unlike of any closed directory of the
 * project, that is to be expected of this one. */
static int fail_closed(const char *path, struct koda_error *err)
{
	koda_auto_free char *inside = NULL;
	int r = koda_path_join(path, "config", &inside, err);

	return r < 0 ? r : koda_site_check_closed(inside, err);
}

/* One directory among those of submodules or worktrees, or, if it is first, the one they are in. */
static int look_below_git(struct queue *queue, const struct koda_found *found,
			  struct koda_set *known, const char *path, bool first,
			  struct koda_error *err)
{
	const size_t closed = found->closed->len;
	koda_auto_fd int fd = -1;
	struct stat st;
	int r = open_dir(found, path, &fd, err);

	/* It can be listed, but nothing in it looked at. */
	if (fd >= 0 && fstatat(fd, ".", &st, 0) < 0 && errno == EACCES && fstat(fd, &st) == 0)
		r = note_closed(found, path, &st, err);
	if (r == KODA_OK && found->closed->len > closed)
		return fail_closed(path, err);
	if (r < 0 || fd < 0)
		return r;
	if (!first && koda_gitdir_resembles(fd))
		return add_git_dir(found, known, path, err);
	return read_subdirs(queue, fd, path, SIZE_MAX, err);
}

/* The git directories of submodules (their names may have several components) and worktrees. */
static int scan_below_git(const struct koda_found *found, struct koda_set *known,
			  const char *git_dir, const char *name, struct koda_error *err)
{
	struct queue queue = { .dirs = KODA_STRV_INIT };
	int r = begin_below_git(&queue, found, git_dir, name, err);

	for (size_t i = 0; r == KODA_OK && i < queue.dirs.len; i++)
		r = queue.dirs.len > SCAN_MAX ? fail_many(git_dir, err)
					      : look_below_git(&queue, found, known,
							       queue.dirs.items[i], i == 0, err);
	koda_strv_clear(&queue.dirs);
	return r;
}

/* Where the pointer files and links lead. git_files grows: links on the way must stay, too, but
 * those need no following. */
static int follow_git_files(const struct koda_found *found, struct koda_set *known,
			    struct koda_error *err)
{
	size_t count = found->git_files->len;
	int r = KODA_OK;

	for (size_t i = 0; i < count && r == KODA_OK; i++) {
		koda_auto_strv struct koda_strv links = KODA_STRV_INIT;
		koda_auto_free char *dir = NULL;

		r = koda_gitlink_follow(found->git_files->items[i], &dir, &links, err);
		if (r == KODA_OK)
			r = add_git_dir(found, known, dir, err);
		if (r == KODA_OK)
			r = add_links(found, &links, err);
	}
	return r;
}

/* What belongs to a git directory: submodules, worktrees, the directory it shares. git_dirs grows
 * while it is read, because each of these has the same again. */
static int scan_git_dirs(const struct koda_found *found, struct koda_set *known,
			 struct koda_error *err)
{
	int r = KODA_OK;

	for (size_t i = 0; i < found->git_dirs->len; i++)
		if (koda_set_add(known, koda_span_of(found->git_dirs->items[i]), NULL) < 0)
			return koda_fail_nomem(err);
	r = follow_git_files(found, known, err);
	for (size_t i = 0; i < found->git_dirs->len && r == KODA_OK; i++) {
		/* A copy: the list may move when it grows. */
		koda_auto_free char *dir = strdup(found->git_dirs->items[i]);
		koda_auto_strv struct koda_strv links = KODA_STRV_INIT;
		koda_auto_free char *common = NULL;

		if (!dir)
			return koda_fail_nomem(err);
		if (found->git_dirs->len > SCAN_MAX)
			return fail_many(dir, err);
		r = scan_below_git(found, known, dir, "modules", err);
		if (r == KODA_OK)
			r = scan_below_git(found, known, dir, "worktrees", err);
		if (r == KODA_OK)
			r = koda_gitlink_common(dir, &common, &links, err);
		if (r == KODA_OK)
			r = add_git_dir(found, known, common, err);
		if (r == KODA_OK)
			r = add_links(found, &links, err);
	}
	return r;
}

int koda_world_scan(const char *root, unsigned int depth, const struct koda_found *found,
		    struct koda_error *err)
{
	koda_auto_set struct koda_set known = KODA_SET_INIT((size_t)256 << 20);
	struct queue queue = { .dirs = KODA_STRV_INIT };
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
		if (queue.dirs.len > SCAN_MAX)
			r = fail_many(root, err);
		else
			r = scan_dir(&queue, queue.dirs.items[queue.next++], level < depth, found,
				     err);
	}
	koda_strv_clear(&queue.dirs);
	return r < 0 ? r : scan_git_dirs(found, &known, err);
}
