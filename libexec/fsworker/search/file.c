/* SPDX-License-Identifier: MIT */
#include "file.h"

#include "base/fd.h"

#include <fcntl.h>
#include <sys/stat.h>

int fsworker_file_open_listed(int dir, const char *name, uint64_t *ret_size)
{
	koda_auto_fd int fd =
		openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return -1;
	*ret_size = (uint64_t)st.st_size;
	return koda_take_fd(&fd);
}

int fsworker_file_open(int dir, const char *name)
{
	struct stat st;
	uint64_t size;

	/* A device can have effects when it is opened. */
	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode))
		return -1;
	return fsworker_file_open_listed(dir, name, &size);
}

int fsworker_file_open_dir(int dir, const char *name)
{
	return openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
}
