/* SPDX-License-Identifier: MIT */
/*
 * T-32. One placeholder; wire/placeholder.h says what it looks like.
 *
 * Other runs examine it without a lock while it is made or removed. A directory that their planner
 * takes for the user's they mount on and do not reserve. If that were removed, the kernel would
 * detach their mount. So a directory carries a mark from mkdir() to rmdir(): first its mode, then
 * its modification time, and at the end its mode again.
 */
#include "guardian/placeholder.h"

#include "guardian/placeholder_clear.h"
#include "guardian/store.h"
#include "sys.h"
#include "wire/placeholder.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* Sets the mode and reads it back. Some file systems have fixed modes: the placeholder would be
 * taken for the user's file, and stay. */
static int give_mode(int fd)
{
	struct stat st;

	if (fchmod(fd, KODA_PLACEHOLDER_FILE_MODE) < 0 || fstat(fd, &st) < 0)
		return -1;
	if ((st.st_mode & 07777) == KODA_PLACEHOLDER_FILE_MODE)
		return 0;
	errno = ENOTSUP;
	return -1;
}

static int make_file(int parent, const char *name, const char *contents, size_t len)
{
	int fd = openat(parent, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			KODA_PLACEHOLDER_FILE_MODE);
	int failure = 0;
	ssize_t n = -1;

	if (fd < 0)
		return -1;
	if (give_mode(fd) == 0)
		n = write(fd, contents, len);
	if (n != (ssize_t)len)
		failure = n < 0 ? errno : ENOSPC;
	(void)close(fd);
	if (failure == 0)
		return 0;
	(void)unlinkat(parent, name, 0);
	errno = failure;
	return -1;
}

/* Returns true if the directory at the first len bytes of path has a .git, or if that is unknown. A
 * needless .gitignore does no harm. A placeholder for .git is none. */
static bool has_git(const char *path, size_t len)
{
	char git[4096 + 8];
	struct stat st;

	if (len > 4096)
		return true;
	memcpy(git, path, len);
	memcpy(git + len, "/.git", sizeof("/.git"));
	if (fstatat(AT_FDCWD, git, &st, AT_SYMLINK_NOFOLLOW) == 0)
		return !koda_placeholder_is_marked(&st);
	return errno != ENOENT && errno != ENOTDIR;
}

/* Returns true if the placeholder is in a git work tree. Keeps the answer for the next placeholder
 * in that directory. path is borrowed from the plan. */
static bool is_tracked(const char *path)
{
	static struct koda_span asked_dir;
	static bool answer;
	size_t len = (size_t)(strrchr(path, '/') - path);

	if (asked_dir.ptr && asked_dir.len == len && memcmp(asked_dir.ptr, path, len) == 0)
		return answer;
	asked_dir = (struct koda_span){ path, len };
	answer = has_git(path, len);
	while (!answer && len > 0) {
		while (path[--len] != '/')
			;
		answer = has_git(path, len);
	}
	return answer;
}

/* Sets the modification time that marks a placeholder, and then the mode. The time is read back,
 * because not every file system keeps it. */
static int give_mark(int fd, mode_t mode)
{
	const struct timespec times[] = { { .tv_nsec = UTIME_OMIT },
					  { .tv_sec = KODA_PLACEHOLDER_TIME } };
	struct stat st;

	if (futimens(fd, times) < 0 || fstat(fd, &st) < 0)
		return -1;
	if (st.st_mtime != KODA_PLACEHOLDER_TIME) {
		errno = ENOTSUP;
		return -1;
	}
	return fchmod(fd, mode);
}

/* Opens the directory that was made. A default ACL may keep its owner from opening it. fchmodat
 * cannot refuse links, so the mode is changed by the name of a descriptor in /proc. */
static int open_made(int parent, const char *name)
{
	const int how = O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
	int fd = openat(parent, name, O_RDONLY | how);
	struct stat st;
	char path[32];

	if (fd >= 0 || errno != EACCES)
		return fd;
	fd = openat(parent, name, O_PATH | how);
	if (fd < 0)
		return -1;
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	/* Another directory may have taken its place. */
	if (fstat(fd, &st) == 0 && koda_placeholder_is_making(st.st_mode))
		(void)!chmod(path, KODA_PLACEHOLDER_MAKING);
	(void)close(fd);
	return openat(parent, name, O_RDONLY | how);
}

static int complete(int fd, bool tracked, mode_t mode)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -1;
	if ((st.st_mode & 0700) != 0700 &&
	    fchmod(fd, KODA_PLACEHOLDER_MAKING | (st.st_mode & S_ISGID)) < 0)
		return -1;
	if (tracked && make_file(fd, KODA_PLACEHOLDER_IGNORE, KODA_PLACEHOLDER_IGNORE_TEXT,
				 sizeof(KODA_PLACEHOLDER_IGNORE_TEXT) - 1) < 0)
		return -1;
	return give_mark(fd, mode | (st.st_mode & S_ISGID));
}

static int make_dir(int parent, const char *name, bool tracked, mode_t mode)
{
	int failure = 0;
	int fd;

	if (mode == KODA_PLACEHOLDER_MODE && stage2_store_take(parent, name, tracked))
		return 0;
	if (mkdirat(parent, name, KODA_PLACEHOLDER_MAKING) < 0)
		return -1;
	fd = open_made(parent, name);
	if (fd < 0 || complete(fd, tracked, mode) < 0)
		failure = errno;
	if (fd >= 0)
		(void)close(fd);
	if (failure == 0)
		return 0;
	stage2_placeholder_clear(parent, name);
	errno = failure;
	return -1;
}

int stage2_placeholder_make(int parent, const char *name, const struct koda_op *op)
{
	if (op->kind == KODA_OP_PLACEHOLDER_FILE)
		return make_file(parent, name, op->text2.ptr, op->text2.len);
	return make_dir(parent, name, is_tracked(op->text1.ptr),
			op->flags & KODA_OP_HIDDEN ? KODA_PLACEHOLDER_HIDDEN_MODE
						   : KODA_PLACEHOLDER_MODE);
}

/* Returns true if a file is a placeholder, which another run may still be writing. A file that the
 * planner of another run takes for the user's must not count: that run holds no lock for it, and
 * relies on the file to stay. */
static bool is_file(int parent, const char *name, const struct koda_op *op, const struct stat *st)
{
	size_t len = op->text2.len;
	char contents[16];
	ssize_t n;
	int fd;

	if (!koda_placeholder_is_file_mode(st->st_mode) || (size_t)st->st_size > len ||
	    len >= sizeof(contents))
		return false;
	if (st->st_size == 0)
		return true;
	fd = openat(parent, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = read(fd, contents, sizeof(contents));
	(void)close(fd);
	return n >= 0 && (size_t)n <= len && memcmp(contents, op->text2.ptr, (size_t)n) == 0;
}

bool stage2_placeholder_is(int parent, const char *name, const struct koda_op *op)
{
	struct stat st;

	if (fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return false;
	/* The planner ignores marked directories and nodes wherever they are. */
	if (!S_ISREG(st.st_mode))
		return koda_placeholder_is(parent, name, &st);
	return op->kind == KODA_OP_PLACEHOLDER_FILE && is_file(parent, name, op, &st);
}

/* The user has put files into the directory: only the .gitignore is removed. */
static void leave(int parent, const char *name)
{
	int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return;
	stage2_placeholder_clear_ignore(fd);
	(void)close(fd);
}

void stage2_placeholder_remove(int parent, const char *name, const struct koda_op *op)
{
	struct stat st;

	if (fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return;
	if (!S_ISDIR(st.st_mode)) {
		if (stage2_placeholder_is(parent, name, op))
			(void)unlinkat(parent, name, 0);
		return;
	}
	/* The contents are examined once it is in the store, or by rmdir(). */
	if (!koda_placeholder_is_marked(&st))
		leave(parent, name);
	else if ((st.st_mode & 0777) != KODA_PLACEHOLDER_MODE || !stage2_store_put(parent, name))
		stage2_placeholder_clear(parent, name);
}
