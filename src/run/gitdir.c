/* SPDX-License-Identifier: MIT */
#include "run/gitdir.h"

#include "base/diag.h"
#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CONFIG_START 4096 /* git writes what it is told by there */

/* What it means that something could not be looked at. */
static int judge(int error, struct koda_error *err)
{
	if (error == ENOENT || error == ENOTDIR)
		return KODA_GITDIR_NO;
	if (error == EACCES)
		return KODA_GITDIR_CLOSED;
	return koda_fail(err, KODA_E_SYS, error, "cannot look for repositories");
}

/* Is there such a name in the directory? */
static int has(int fd, const char *name, struct stat *ret_st, struct koda_error *err)
{
	if (fstatat(fd, name, ret_st, AT_SYMLINK_NOFOLLOW) == 0)
		return KODA_GITDIR_YES;
	return judge(errno, err);
}

static int has_all(int fd, const char *const *names, struct koda_error *err)
{
	int is = KODA_GITDIR_YES;
	struct stat st;

	for (; *names && is == KODA_GITDIR_YES; names++)
		is = has(fd, *names, &st, err);
	return is;
}

int koda_gitdir_is_at(int fd, struct koda_error *err)
{
	static const char *const parts[] = { "HEAD", "objects", "refs", NULL };

	return has_all(fd, parts, err);
}

int koda_gitdir_is_worktree_at(int fd, struct koda_error *err)
{
	static const char *const parts[] = { "HEAD", "commondir", NULL };

	return has_all(fd, parts, err);
}

int koda_gitdir_is(const char *dir, struct koda_error *err)
{
	koda_auto_fd int fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? judge(errno, err) : koda_gitdir_is_at(fd, err);
}

int koda_gitdir_is_worktree(const char *dir, struct koda_error *err)
{
	koda_auto_fd int fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? judge(errno, err) : koda_gitdir_is_worktree_at(fd, err);
}

/* Does the text of a configuration begin as git writes it? */
static bool is_gits(const char *text)
{
	return strcasestr(text, "[core]") &&
	       (strcasestr(text, "repositoryformatversion") || strcasestr(text, "bare"));
}

/* Reads the start of a configuration that is held. */
static int read_config(int held, struct koda_error *err)
{
	koda_auto_fd int fd = -1;
	struct koda_error inner = { 0 };
	char text[CONFIG_START + 1];
	ssize_t n;
	int r = koda_fd_open_held(held, &fd, &inner);

	/* What is no file, or one that nobody may read, is no configuration of git's. */
	if (r == KODA_E_INVALID || inner.sys_errno == EACCES)
		return KODA_GITDIR_NO;
	if (r < 0)
		return koda_fail(err, r, inner.sys_errno, "cannot look for repositories");
	n = pread(fd, text, CONFIG_START, 0);
	if (n < 0)
		return koda_fail(err, KODA_E_SYS, errno, "cannot look for repositories");
	text[n] = '\0';
	return is_gits(text) ? KODA_GITDIR_YES : KODA_GITDIR_NO;
}

int koda_gitdir_is_configured_at(int fd, struct koda_error *err)
{
	koda_auto_fd int held = -1;
	struct stat st;
	/* Every directory of a project is asked, and looking costs half of opening. */
	int is = has(fd, "config", &st, err);

	if (is != KODA_GITDIR_YES)
		return is;
	if (!S_ISREG(st.st_mode))
		return KODA_GITDIR_NO;
	held = openat(fd, "config", O_PATH | O_NOFOLLOW | O_CLOEXEC);
	return held < 0 ? judge(errno, err) : read_config(held, err);
}

int koda_gitdir_resembles(int fd, struct koda_error *err)
{
	/* Config and hooks cannot be taken away once they are protected. */
	static const char *const parts[] = { "config", "hooks", "HEAD", "objects", "commondir" };
	int is = KODA_GITDIR_NO;
	struct stat st;

	for (size_t i = 0; i < KODA_ARRAY_LEN(parts) && is == KODA_GITDIR_NO; i++)
		is = has(fd, parts[i], &st, err);
	return is;
}
