/* SPDX-License-Identifier: MIT */
/* T-92. Searches sparse directories for repositories. */
#include "run/project/git_sparse.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/proc.h"
#include "base/strv.h"
#include "run/project/git_dir.h"
#include "run/project/inode_search.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Bytes of the paths of all directories below one. */
#define BYTES_MAX ((size_t)16 << 20)

/* Directories still to be examined, as paths below the work tree. */
struct queue {
	struct koda_strv paths;
	size_t bytes;
};

/* Opens a directory in the work tree. Git does not follow links on the way either. */
static int open_below(int worktree, const char *path)
{
	struct open_how how = { .flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC,
				.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS |
					   RESOLVE_NO_MAGICLINKS };

	return (int)syscall(SYS_openat2, worktree, path, &how, sizeof(how));
}

static bool is_subdir(const struct dirent *entry)
{
	return (entry->d_type == DT_DIR || entry->d_type == DT_UNKNOWN) &&
	       strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
	       strcmp(entry->d_name, ".git") != 0;
}

static int add_subdirs(struct queue *queue, int fd, const char *path, struct koda_error *err)
{
	koda_auto_fd int own = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	DIR *dir = own >= 0 ? fdopendir(own) : NULL;
	const struct dirent *entry;
	int r = KODA_OK;

	if (!dir)
		return koda_fail_nomem(err);
	(void)koda_take_fd(&own);
	while (r == KODA_OK && (entry = koda_inode_search_next(dir))) {
		koda_auto_free char *below = NULL;

		if (!is_subdir(entry))
			continue;
		r = koda_path_join(path, entry->d_name, &below, err);
		if (r < 0)
			break;
		queue->bytes += strlen(below);
		r = queue->bytes > BYTES_MAX ? KODA_E_LIMIT
					     : koda_strv_take(&queue->paths, KODA_TAKE(below), err);
	}
	(void)closedir(dir);
	return r;
}

/* Adds the repository in a directory, if it has one. */
static int check_git(struct koda_git_submodules *links, int fd, const char *full, bool only_new)
{
	bool known = false;
	struct stat git;
	int r = KODA_OK;

	if (fstatat(fd, ".git", &git, AT_SYMLINK_NOFOLLOW) < 0 ||
	    !koda_git_dir_is_dot_git(fd, &git))
		return KODA_OK;
	if (only_new)
		r = koda_git_known_has(&links->known, fd, full, &git, &known, links->err);
	return r < 0 || known ? r
			      : koda_left_behind_add(links->left, full, ".git", KODA_LEFT_GITLINK,
						     links->err);
}

/* full: the absolute path. */
static int check_dir(struct koda_git_submodules *links, int worktree, const char *path,
		     const char *full, bool only_new, struct queue *queue)
{
	koda_auto_fd int fd = -1;
	int r;

	if (links->dirs == KODA_GIT_SUBMODULES_DIRS || koda_clock_now() >= links->deadline_ns)
		return KODA_E_LIMIT;
	links->dirs++;
	fd = open_below(worktree, path);
	/* A closed directory may be open when git runs. */
	if (fd < 0 && errno == EACCES)
		return koda_left_behind_add(links->left, full, ".git", KODA_LEFT_GITLINK,
					    links->err);
	if (fd < 0)
		return KODA_OK;
	r = check_git(links, fd, full, only_new);
	return r < 0 ? r : add_subdirs(queue, fd, path, links->err);
}

int koda_git_sparse_check(struct koda_git_submodules *links, int worktree, const char *top,
			  struct koda_span path, bool only_new)
{
	struct queue queue = { .paths = KODA_STRV_INIT };
	int r;

	while (path.len > 0 && path.ptr[path.len - 1] == '/')
		path.len--;
	r = koda_strv_add_span(&queue.paths, path, links->err);
	for (size_t i = 0; i < queue.paths.len && r == KODA_OK; i++) {
		koda_auto_free char *full = NULL;

		r = koda_path_join(top, queue.paths.items[i], &full, links->err);
		if (r == KODA_OK)
			r = check_dir(links, worktree, queue.paths.items[i], full, only_new,
				      &queue);
	}
	koda_strv_clear(&queue.paths);
	return r;
}
