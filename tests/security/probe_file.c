/* SPDX-License-Identifier: MIT */
/* Acts on files and names. */
#include "probe.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

static int result(int r)
{
	return r < 0 ? errno : 0;
}

static int closing(int fd)
{
	if (fd < 0)
		return errno;
	(void)close(fd);
	return 0;
}

/* Reads a byte of a file, or an entry of a directory: opening alone could be a mask's. */
static int try_read(char **arg)
{
	int fd = open(arg[0], O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat st;
	char byte;
	int error;

	if (fd < 0)
		return errno;
	error = fstat(fd, &st) < 0 ? errno : 0;
	if (!error && S_ISDIR(st.st_mode)) {
		DIR *dir = fdopendir(fd);

		errno = 0;
		error = dir && readdir(dir) ? 0 : errno;
		if (dir)
			(void)closedir(dir);
		return error;
	}
	if (!error && read(fd, &byte, 1) < 0)
		error = errno;
	(void)close(fd);
	return error;
}

static int try_write(char **arg)
{
	return closing(open(arg[0], O_WRONLY | O_APPEND | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
}

/* An open for writing that goes around the path: through the kernel's own name for a
 * descriptor. */
static int try_reopen(char **arg)
{
	char path[64];
	struct stat st;
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%ld", probe_number(arg[0]));
	fd = open(path, O_WRONLY | O_APPEND | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return errno;
	/* Its own end of a pipe is nobody else's file. */
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		(void)close(fd);
		return EINVAL;
	}
	(void)close(fd);
	return 0;
}

static int try_create(char **arg)
{
	return closing(open(arg[0], O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
}

/* Leaves nothing: for paths that somebody looks at afterwards. */
static int try_create_once(char **arg)
{
	int error = try_create(arg);

	if (!error)
		(void)unlink(arg[0]);
	return error;
}

static int try_mkdir(char **arg)
{
	return result(mkdir(arg[0], 0755));
}

static int try_rmdir(char **arg)
{
	return result(rmdir(arg[0]));
}

static int try_unlink(char **arg)
{
	return result(unlink(arg[0]));
}

static int try_symlink(char **arg)
{
	return result(symlink(arg[0], arg[1]));
}

static int try_link(char **arg)
{
	return result(link(arg[0], arg[1]));
}

/* The object a link leads to, or an open descriptor, gets a second name. */
static int try_link_follow(char **arg)
{
	return result(linkat(AT_FDCWD, arg[0], AT_FDCWD, arg[1], AT_SYMLINK_FOLLOW));
}

static int try_link_fd(char **arg)
{
	int fd = open(arg[0], O_PATH | O_CLOEXEC);
	char path[64];
	int error;

	if (fd < 0)
		return errno;
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	error = result(linkat(AT_FDCWD, path, AT_FDCWD, arg[1], AT_SYMLINK_FOLLOW));
	(void)close(fd);
	return error;
}

static int try_rename(char **arg)
{
	return result(rename(arg[0], arg[1]));
}

static int try_exchange(char **arg)
{
	return result(renameat2(AT_FDCWD, arg[0], AT_FDCWD, arg[1], RENAME_EXCHANGE));
}

static int try_chmod(char **arg)
{
	return result(chmod(arg[0], (mode_t)probe_number(arg[1])));
}

static int try_truncate(char **arg)
{
	return result(truncate(arg[0], 0));
}

static int try_utime(char **arg)
{
	return result(utimensat(AT_FDCWD, arg[0], NULL, 0));
}

static int try_setxattr(char **arg)
{
	return result(setxattr(arg[0], "user.koda-probe", "x", 1, 0));
}

/* A character device like /dev/zero. */
static int try_mknod(char **arg)
{
	return result(mknod(arg[0], S_IFCHR | 0666, makedev(1, 5)));
}

const struct probe_entry probe_file_acts[] = {
	{ "open-read", 1, try_read },
	{ "open-write", 1, try_write },
	{ "reopen-fd", 1, try_reopen },
	{ "create", 1, try_create },
	{ "create-once", 1, try_create_once },
	{ "mkdir", 1, try_mkdir },
	{ "rmdir", 1, try_rmdir },
	{ "unlink", 1, try_unlink },
	{ "symlink", 2, try_symlink },
	{ "link", 2, try_link },
	{ "link-follow", 2, try_link_follow },
	{ "link-fd", 2, try_link_fd },
	{ "rename", 2, try_rename },
	{ "exchange", 2, try_exchange },
	{ "chmod", 2, try_chmod },
	{ "truncate", 1, try_truncate },
	{ "utime", 1, try_utime },
	{ "setxattr", 1, try_setxattr },
	{ "mknod", 1, try_mknod },
	{ NULL, 0, NULL },
};
