/* SPDX-License-Identifier: MIT */
#include "open.h"

#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* File systems of the kernel are on no device. */
static bool is_kernels(int fd, const struct stat *st)
{
	return major(st->st_dev) == 0 && koda_fd_is_kernels(fd);
}

bool fsworker_open_file(struct fsworker_task *task, struct fsworker_place *place, int flags,
			int *ret_fd)
{
	koda_auto_fd int fd = -1;

	if (!fsworker_resolve_exists(task, place))
		return false;
	if (S_ISLNK(place->st.st_mode))
		return fsworker_task_fail(task, KODA_FS_STATUS_LINK, "");
	if (!S_ISREG(place->st.st_mode))
		return fsworker_task_fail(task, KODA_FS_STATUS_NOT_FILE, "");
	/* The name may have got another meaning since it was examined. A link is not followed, and
	 * O_NONBLOCK does not wait for the other end of a FIFO, nor for the holder of a lease. */
	fd = openat(place->dir, place->name,
		    flags | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &place->st) < 0)
		return fsworker_task_fail_errno(task, errno);
	if (!S_ISREG(place->st.st_mode) || is_kernels(fd, &place->st))
		return fsworker_task_fail(task, KODA_FS_STATUS_NOT_FILE, "");
	*ret_fd = koda_take_fd(&fd);
	return true;
}

bool fsworker_open_dir(struct fsworker_task *task, const struct fsworker_place *place, int *ret_fd)
{
	int fd;

	if (!fsworker_resolve_exists(task, place))
		return false;
	fd = openat(place->dir, place->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return fsworker_task_fail_errno(task, errno);
	*ret_fd = fd;
	return true;
}
