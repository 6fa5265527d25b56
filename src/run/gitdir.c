/* SPDX-License-Identifier: MIT */
#include "run/gitdir.h"

#include "base/fd.h"
#include "base/macros.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CONFIG_START 4096 /* git writes what it is told by there */

static bool has_all(int fd, const char *const *names)
{
	struct stat st;

	for (; fd >= 0 && *names; names++)
		if (fstatat(fd, *names, &st, AT_SYMLINK_NOFOLLOW) < 0)
			return false;
	return fd >= 0;
}

bool koda_gitdir_is_at(int fd)
{
	static const char *const parts[] = { "HEAD", "objects", "refs", NULL };

	return has_all(fd, parts);
}

bool koda_gitdir_is(const char *dir)
{
	koda_auto_fd int fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);

	return koda_gitdir_is_at(fd);
}

bool koda_gitdir_is_configured_at(int fd)
{
	koda_auto_fd int config = -1;
	char text[CONFIG_START + 1];
	struct stat st;
	ssize_t n = -1;

	/* Every directory of a project is asked, and looking costs half of opening. */
	if (fstatat(fd, "config", &st, AT_SYMLINK_NOFOLLOW) < 0)
		return false;
	if (S_ISREG(st.st_mode))
		config = openat(fd, "config",
				O_RDONLY | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW | O_CLOEXEC);
	/* What is no file, or one that nobody may read, is no configuration of git's. */
	if (config < 0 &&
	    (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || !(st.st_mode & S_IRUSR)))
		errno = 0;
	if (config < 0)
		return false;
	n = pread(config, text, CONFIG_START, 0);
	errno = 0;
	if (n <= 0)
		return false;
	text[n] = '\0';
	return strcasestr(text, "[core]") &&
	       (strcasestr(text, "repositoryformatversion") || strcasestr(text, "bare"));
}

bool koda_gitdir_is_worktree(const char *dir)
{
	static const char *const parts[] = { "HEAD", "commondir", NULL };
	koda_auto_fd int fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);

	return has_all(fd, parts);
}

bool koda_gitdir_resembles(int fd)
{
	/* Config and hooks cannot be taken away once they are protected. */
	static const char *const parts[] = { "config", "hooks", "HEAD", "objects", "commondir" };
	struct stat st;

	for (size_t i = 0; fd >= 0 && i < KODA_ARRAY_LEN(parts); i++)
		if (fstatat(fd, parts[i], &st, AT_SYMLINK_NOFOLLOW) == 0 || errno == EACCES)
			return true;
	return false;
}
