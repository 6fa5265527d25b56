/* SPDX-License-Identifier: MIT */
#include "landlock/brokered_call.h"

#include "landlock/alarm.h"
#include "sys.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

bool stage2_brokered_call_holds(const struct brokered_call *call)
{
	return ioctl(call->listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &call->id) == 0;
}

/* Returns a negative errno. A process that is undumpable cannot be examined (EPERM): nothing is
 * done for it. */
static int refusal(void)
{
	return errno == EPERM ? -EACCES : -errno;
}

int stage2_brokered_call_fd(const struct brokered_call *call, int number)
{
	int fd = (int)syscall(SYS_pidfd_getfd, call->pidfd, number, 0);

	return fd >= 0 ? fd : refusal();
}

/* T-38. The last close of a socket waits until its data is sent, up to SO_LINGER, and the command
 * may have closed its own descriptor. An interrupted close still closes. */
void stage2_brokered_call_close(int fd)
{
	stage2_alarm_set(true);
	(void)close(fd);
	stage2_alarm_set(false);
}

/* Returns the number in "/proc/self/fd/5", which means a descriptor of the command, not of init; -1
 * for other paths. */
static int named_fd(const char *path)
{
	static const char own_fds[] = "/proc/self/fd/";
	const size_t len = sizeof(own_fds) - 1;
	char *end;
	long number;

	if (strncmp(path, own_fds, len) != 0 || path[len] < '0' || path[len] > '9')
		return -1;
	number = strtol(path + len, &end, 10);
	return *end || number > INT32_MAX ? -1 : (int)number;
}

int stage2_brokered_call_open(const struct brokered_call *call, int dirfd, const char *path,
			      bool follow)
{
	int number_named = follow ? named_fd(path) : -1;
	int base = AT_FDCWD;
	int fd;

	if (number_named >= 0)
		return stage2_brokered_call_fd(call, number_named);
	if (path[0] != '/' && dirfd == AT_FDCWD) {
		char name[48];

		(void)snprintf(name, sizeof(name), "/proc/%d/cwd", call->thread);
		base = open(name, O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (base < 0)
			return -EACCES;
	} else if (path[0] != '/') {
		base = stage2_brokered_call_fd(call, dirfd);
		if (base < 0)
			return base;
	}
	/* Magic links, as in /proc/self, would lead to objects of init. */
	fd = sys_openat2(base, path, O_PATH | (follow ? 0 : O_NOFOLLOW), RESOLVE_NO_MAGICLINKS);
	fd = fd < 0 ? -errno : fd;
	if (base >= 0)
		stage2_brokered_call_close(base);
	return fd;
}

/* The flags are shared with the command's descriptor, and the command may change them at any time;
 * the timer ends a connect that blocks. */
int stage2_brokered_call_connect(int fd, const void *address, socklen_t len)
{
	int flags = fcntl(fd, F_GETFL);
	bool waits = flags >= 0 && !(flags & O_NONBLOCK);
	int r;

	if (flags < 0 || (waits && fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0))
		return -errno;
	stage2_alarm_set(true);
	r = connect(fd, address, len) < 0 ? -errno : 0;
	stage2_alarm_set(false);
	if (waits)
		(void)fcntl(fd, F_SETFL, flags);
	return r == -EINTR ? -EAGAIN : r;
}
