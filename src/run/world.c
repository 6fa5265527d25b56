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
#include "wire/hold.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Directories looked at in one scan; more than this is told, not skipped. */
#define SCAN_MAX 200000

/* Read-only and empty, or just "." as in a commondir that leads nowhere else. So is what has gone
 * since it was looked at: the placeholder of a run that has just ended. */
static bool is_neutral(const char *path, const struct stat *st)
{
	koda_auto_fd int fd = -1;
	char contents[4];

	if (!S_ISREG(st->st_mode) || (st->st_mode & 07777) != 0444 || st->st_size > 2)
		return false;
	if (st->st_size == 0)
		return true;
	fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT;
	return read(fd, contents, sizeof(contents)) == 2 && memcmp(contents, ".\n", 2) == 0;
}

static int look(void *ctx, const char *path, struct koda_look *ret_look, struct koda_error *err)
{
	struct stat st;

	(void)ctx;
	*ret_look = (struct koda_look){ .thing = KODA_THING_MISSING };
	if (lstat(path, &st) < 0) {
		ret_look->closed = errno == EACCES;
		if (errno == ENOENT || errno == ENOTDIR || errno == EACCES)
			return KODA_OK;
		return koda_fail_at(err, KODA_E_SYS, errno, path, "cannot look at");
	}
	if (koda_hold_is_node(st.st_mode))
		return KODA_OK;
	ret_look->thing = S_ISDIR(st.st_mode)   ? KODA_THING_DIR
			  : S_ISLNK(st.st_mode) ? KODA_THING_LINK
						: KODA_THING_OTHER;
	ret_look->neutral = is_neutral(path, &st);
	ret_look->dev = st.st_dev;
	ret_look->ino = st.st_ino;
	return KODA_OK;
}

const struct koda_world koda_world_here = { .look = look, .list = koda_world_list };

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
 * of others. Every such change is an attribute change, whose time nobody can set. */
static bool is_settled(const struct queue *queue, int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && (st.st_ctim.tv_sec < queue->since.tv_sec ||
				       (st.st_ctim.tv_sec == queue->since.tv_sec &&
					st.st_ctim.tv_nsec < queue->since.tv_nsec));
}

/* Adds the subdirectories of dir. expected is how many there are, where the file system tells by
 * its link count; reading stops when they are found. */
static int read_subdirs(struct queue *queue, int fd, const char *path, size_t expected,
			struct koda_error *err)
{
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
		if (--expected == 0 && !is_settled(queue, fd))
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
	if (S_ISREG(git->st_mode) && git->st_nlink > 1 && found->shared)
		*found->shared = true;
	return note(is_closed_git(fd, git)  ? found->closed
		    : S_ISDIR(git->st_mode) ? found->git_dirs
					    : found->git_files,
		    path, ".git", err);
}

/* One directory: is there a .git, and what is below? */
static int scan_dir(struct queue *queue, const char *path, bool descend,
		    const struct koda_found *found, struct koda_error *err)
{
	koda_auto_fd int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	size_t expected = SIZE_MAX;
	struct stat git;
	struct stat st;
	bool has_git;
	int r = KODA_OK;

	/* Closed, but the user's own: the command could open it. It stays as it is. */
	if (fd < 0 && errno == EACCES && lstat(path, &st) == 0 && st.st_uid == geteuid())
		return koda_strv_add(found->closed, path, err);
	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR || errno == ELOOP || errno == EACCES))
		return KODA_OK; /* gone, or somebody else's */
	if (fd < 0 || fstat(fd, &st) < 0)
		return koda_fail_at(err, KODA_E_SYS, errno, path, "cannot look for repositories");
	has_git = fstatat(fd, ".git", &git, AT_SYMLINK_NOFOLLOW) == 0;
	/* It can be listed, but nothing in it looked at. */
	if (!has_git && errno == EACCES)
		return st.st_uid == geteuid() ? koda_strv_add(found->closed, path, err) : KODA_OK;
	if (!has_git && errno != ENOENT)
		return koda_fail_at(err, KODA_E_SYS, errno, path, "cannot look for repositories");
	/* What a run that was killed has left is nobody's repository. */
	has_git = has_git && !koda_hold_is_node(git.st_mode);
	if (has_git)
		r = note_git(found, path, fd, &git, err);
	/* "." and the entry in the parent, then one per subdirectory. */
	if (st.st_nlink >= 2 && counts_subdirs(queue, fd, st.st_dev))
		expected = st.st_nlink - 2;
	/* T-30. A repository without a work tree: the directory itself is what git obeys. */
	if (r == KODA_OK &&
	    ((expected >= 2 && koda_gitdir_is_at(fd)) || koda_gitdir_is_configured_at(fd)))
		r = koda_strv_add(found->git_dirs, path, err);
	if (r < 0 || !descend || expected == 0)
		return r;
	if (expected == 1 && has_git && S_ISDIR(git.st_mode) && is_settled(queue, fd))
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

/* The git directories of submodules (their names may have several components) and worktrees. */
static int scan_below_git(const struct koda_found *found, struct koda_set *known,
			  const char *git_dir, const char *name, struct koda_error *err)
{
	struct queue queue = { .dirs = KODA_STRV_INIT };
	int r = note(&queue.dirs, git_dir, name, err);

	for (size_t i = 0; r == KODA_OK && i < queue.dirs.len && i < SCAN_MAX; i++) {
		const char *path = queue.dirs.items[i];
		koda_auto_fd int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

		if (fd < 0)
			continue;
		if (i > 0 && koda_gitdir_resembles(fd))
			r = add_git_dir(found, known, path, err);
		else
			r = read_subdirs(&queue, fd, path, SIZE_MAX, err);
	}
	koda_strv_clear(&queue.dirs);
	return r;
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
	for (size_t i = 0; i < found->git_dirs->len && i < SCAN_MAX && r == KODA_OK; i++) {
		/* A copy: the list may move when it grows. */
		koda_auto_free char *dir = strdup(found->git_dirs->items[i]);
		koda_auto_strv struct koda_strv links = KODA_STRV_INIT;
		koda_auto_free char *common = NULL;

		if (!dir)
			return koda_fail_nomem(err);
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
			r = koda_fail_at(err, KODA_E_LIMIT, 0, root,
					 "more than %d directories to look at for repositories",
					 SCAN_MAX);
		else
			r = scan_dir(&queue, queue.dirs.items[queue.next++], level < depth, found,
				     err);
	}
	koda_strv_clear(&queue.dirs);
	return r < 0 ? r : scan_git_dirs(found, &known, err);
}
