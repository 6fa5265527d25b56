/* SPDX-License-Identifier: MIT */
#include "run/project/git_dir.h"

#include "base/error.h"
#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CONFIG_START 4096 /* what git writes by itself is within this */

/* Judges the errno with which a name could not be examined. */
static int judge(int error, struct koda_error *err)
{
	if (error == ENOENT || error == ENOTDIR)
		return KODA_GIT_DIR_NO;
	if (error == EACCES)
		return KODA_GIT_DIR_CLOSED;
	return koda_fail(err, KODA_E_SYS, error, "cannot look for repositories");
}

/* Tells whether the name exists in the directory. */
static int has(int fd, const char *name, struct stat *ret_st, struct koda_error *err)
{
	if (fstatat(fd, name, ret_st, AT_SYMLINK_NOFOLLOW) == 0)
		return KODA_GIT_DIR_YES;
	return judge(errno, err);
}

static int has_all(int fd, const char *const *names, struct koda_error *err)
{
	int is = KODA_GIT_DIR_YES;
	struct stat st;

	for (; *names && is == KODA_GIT_DIR_YES; names++)
		is = has(fd, *names, &st, err);
	return is;
}

int koda_git_dir_is_at(int fd, struct koda_error *err)
{
	static const char *const parts[] = { "HEAD", "objects", "refs", NULL };

	return has_all(fd, parts, err);
}

int koda_git_dir_is_worktree_at(int fd, struct koda_error *err)
{
	static const char *const parts[] = { "HEAD", "commondir", NULL };

	return has_all(fd, parts, err);
}

int koda_git_dir_is(const char *dir, struct koda_error *err)
{
	koda_auto_fd int fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? judge(errno, err) : koda_git_dir_is_at(fd, err);
}

int koda_git_dir_is_worktree(const char *dir, struct koda_error *err)
{
	koda_auto_fd int fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? judge(errno, err) : koda_git_dir_is_worktree_at(fd, err);
}

/* Tells whether the text begins like a configuration that git wrote. */
static bool is_gits(const char *text)
{
	return strcasestr(text, "[core]") &&
	       (strcasestr(text, "repositoryformatversion") || strcasestr(text, "bare"));
}

/* Reads the start of a configuration that is open with O_PATH. */
static int read_config(int held, struct koda_error *err)
{
	koda_auto_fd int fd = -1;
	struct koda_error inner = { 0 };
	char text[CONFIG_START + 1];
	ssize_t n;
	int r = koda_fd_open_held(held, &fd, &inner);

	/* A file that is not regular, or that cannot be read, is no configuration to git. */
	if (r == KODA_E_INVALID || inner.sys_errno == EACCES)
		return KODA_GIT_DIR_NO;
	if (r < 0)
		return koda_fail(err, r, inner.sys_errno, "cannot look for repositories");
	n = pread(fd, text, CONFIG_START, 0);
	if (n < 0)
		return koda_fail(err, KODA_E_SYS, errno, "cannot look for repositories");
	text[n] = '\0';
	return is_gits(text) ? KODA_GIT_DIR_YES : KODA_GIT_DIR_NO;
}

int koda_git_dir_is_configured_at(int fd, struct koda_error *err)
{
	koda_auto_fd int held = -1;
	struct stat st;
	/* This runs for every directory of a project, and fstatat() costs half of openat(). */
	int is = has(fd, "config", &st, err);

	if (is != KODA_GIT_DIR_YES)
		return is;
	if (!S_ISREG(st.st_mode))
		return KODA_GIT_DIR_NO;
	held = openat(fd, "config", O_PATH | O_NOFOLLOW | O_CLOEXEC);
	return held < 0 ? judge(errno, err) : read_config(held, err);
}

int koda_git_dir_resembles(int fd, struct koda_error *err)
{
	/* A command cannot remove config and hooks once they are protected. */
	static const char *const parts[] = { "config", "hooks", "HEAD", "objects", "commondir" };
	int is = KODA_GIT_DIR_NO;
	struct stat st;

	for (size_t i = 0; i < KODA_ARRAY_LEN(parts) && is == KODA_GIT_DIR_NO; i++)
		is = has(fd, parts[i], &st, err);
	return is;
}

bool koda_git_dir_is_dot_git(int dir, const struct stat *git)
{
	koda_auto_fd int fd = -1;
	struct stat st;

	if (S_ISLNK(git->st_mode) || S_ISREG(git->st_mode))
		return true;
	if (!S_ISDIR(git->st_mode))
		return false;
	/* Nearly every git directory has one, and this costs one system call. */
	if (fstatat(dir, ".git/config", &st, AT_SYMLINK_NOFOLLOW) == 0)
		return true;
	/* An empty directory is a placeholder of another run, or nothing to git. One that cannot be
	 * examined may be anything. */
	fd = openat(dir, ".git", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 || koda_git_dir_resembles(fd, NULL) != KODA_GIT_DIR_NO;
}
