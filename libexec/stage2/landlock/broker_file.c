/* SPDX-License-Identifier: MIT */
/*
 * T-16. Modes, owners and times: Landlock does not restrict them, and a seccomp filter cannot read
 * the path. Init opens the path as the command would and changes the file only if some rule lets
 * the command write to it.
 */
#include "landlock/broker_file.h"

#include "landlock/grants.h"
#include "pathcall/caller.h"
#include "pathcall/pathcall.h"
#include "sys.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

static int open_subject(const struct brokered_call *call, const struct pathcall_subject *subject)
{
	char path[PATHCALL_PATH_BYTES];
	int r;

	if (subject->path == 0)
		return stage2_brokered_call_fd(call, subject->dirfd);
	r = stage2_caller_copy_text(call->thread, subject->path, path);
	if (r < 0)
		return r;
	if (path[0])
		return stage2_brokered_call_open(call, subject->dirfd, path,
						 !(subject->flags & AT_SYMLINK_NOFOLLOW));
	if (!(subject->flags & AT_EMPTY_PATH))
		return -ENOENT;
	return subject->dirfd == AT_FDCWD ? stage2_brokered_call_open(call, AT_FDCWD, ".", true)
					  : stage2_brokered_call_fd(call, subject->dirfd);
}

static long change_mode(int fd, mode_t mode)
{
	char name[32];
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (S_ISLNK(st.st_mode))
		return -EOPNOTSUPP;
	(void)snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	return chmod(name, mode) < 0 ? -errno : 0;
}

static long change_times(const struct brokered_call *call, int fd, uint64_t at)
{
	struct timespec times[2];
	int r = at != 0 ? stage2_caller_copy(call->thread, at, times, sizeof(times)) : 0;

	if (r < 0)
		return r;
	return syscall(SYS_utimensat, fd, "", at != 0 ? times : NULL, AT_EMPTY_PATH) < 0 ? -errno
											 : 0;
}

static long change(const struct brokered_call *call, int fd)
{
	const uint64_t *a = call->args;

	switch (call->call) {
#ifdef SYS_chmod
	case SYS_chmod:
		return change_mode(fd, (mode_t)a[1]);
	case SYS_chown:
	case SYS_lchown:
#endif
	case SYS_fchown:
		return fchownat(fd, "", (uid_t)a[1], (gid_t)a[2], AT_EMPTY_PATH) < 0 ? -errno : 0;
	case SYS_fchownat:
		return fchownat(fd, "", (uid_t)a[2], (gid_t)a[3], AT_EMPTY_PATH) < 0 ? -errno : 0;
	case SYS_fchmod:
		return change_mode(fd, (mode_t)a[1]);
	case SYS_utimensat:
		return change_times(call, fd, a[2]);
	default: /* fchmodat, fchmodat2 */
		return change_mode(fd, (mode_t)a[2]);
	}
}

long stage2_broker_file(const struct brokered_call *call)
{
	struct pathcall decoded;
	long r = -EPERM;
	int fd;

	if (!stage2_pathcall_decode(call->call, call->args, &decoded))
		return r;
	fd = open_subject(call, &decoded.subject[0]);
	if (fd < 0)
		return fd;
	if (stage2_grants_allow(fd, SYS_LANDLOCK_WRITE_FILE) && stage2_brokered_call_holds(call))
		r = change(call, fd);
	stage2_brokered_call_close(fd);
	return r;
}
