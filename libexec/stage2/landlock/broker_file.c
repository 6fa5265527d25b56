/* SPDX-License-Identifier: MIT */
/*
 * T-16. Modes, owners and times: Landlock does not restrict them, and a seccomp filter cannot read
 * the path. Init opens the path as the command would and changes the file only if some rule lets
 * the command write to it.
 */
#include "landlock/broker_file.h"

#include "landlock/grants.h"
#include "sys.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define PATH_BYTES 4096
#define PAGE       4096

/* Copies a text up to its NUL, page by page: the next page may not be mapped. Returns 0 or a
 * negative errno. */
static int copy_text(const struct brokered_call *call, uint64_t at, char *out)
{
	size_t len = 0;

	while (len < PATH_BYTES) {
		size_t step = PAGE - (size_t)((at + len) % PAGE);
		int r;

		step = step < PATH_BYTES - len ? step : PATH_BYTES - len;
		r = stage2_brokered_call_copy(call, at + len, out + len, step);
		if (r < 0)
			return r;
		if (memchr(out + len, '\0', step))
			return 0;
		len += step;
	}
	return -ENAMETOOLONG;
}

/* The object of a call: a descriptor, or a path below one. */
struct subject {
	int dirfd;
	uint64_t path; /* 0: the descriptor itself */
	int flags;     /* of the *at calls */
};

static int open_subject(const struct brokered_call *call, const struct subject *subject)
{
	char path[PATH_BYTES];
	int r;

	if (subject->path == 0)
		return stage2_brokered_call_fd(call, subject->dirfd);
	r = copy_text(call, subject->path, path);
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
	int r = at != 0 ? stage2_brokered_call_copy(call, at, times, sizeof(times)) : 0;

	if (r < 0)
		return r;
	return syscall(SYS_utimensat, fd, "", at != 0 ? times : NULL, AT_EMPTY_PATH) < 0 ? -errno
											 : 0;
}

static struct subject subject_of(const struct brokered_call *call)
{
	const uint64_t *a = call->args;

	switch (call->call) {
#ifdef SYS_chmod
	case SYS_chmod:
	case SYS_chown:
		return (struct subject){ .dirfd = AT_FDCWD, .path = a[0] };
	case SYS_lchown:
		return (struct subject){ AT_FDCWD, a[0], AT_SYMLINK_NOFOLLOW };
#endif
	case SYS_fchmod:
	case SYS_fchown:
		return (struct subject){ .dirfd = (int)a[0] };
	case SYS_fchmodat:
		return (struct subject){ .dirfd = (int)a[0], .path = a[1] };
	case SYS_fchownat:
		return (struct subject){ (int)a[0], a[1], (int)a[4] };
	default: /* fchmodat2, utimensat */
		return (struct subject){ (int)a[0], a[1], (int)a[3] };
	}
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
	const struct subject subject = subject_of(call);
	int fd = open_subject(call, &subject);
	long r = -EPERM;

	if (fd < 0)
		return fd;
	if (stage2_grants_allow(fd, SYS_LANDLOCK_WRITE_FILE) && stage2_brokered_call_holds(call))
		r = change(call, fd);
	stage2_brokered_call_close(fd);
	return r;
}
