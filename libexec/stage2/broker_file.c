/* SPDX-License-Identifier: MIT */
/*
 * T-16. Modes, owners and times: Landlock does not know them, and a path that a filter cannot see
 * decides. Init resolves the path as the process would, holds the place, and changes it only if
 * some grant lets the command write there.
 */
#include "broker.h"

#include "sys.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define PATH_BYTES 4096
#define PAGE       4096

/* A text up to its NUL: 0, or a negative errno. It may end just before memory that is not there. */
static int copy_text(const struct asked *asked, uint64_t at, char *out)
{
	size_t len = 0;

	while (len < PATH_BYTES) {
		size_t step = PAGE - (size_t)((at + len) % PAGE);
		int r;

		step = step < PATH_BYTES - len ? step : PATH_BYTES - len;
		r = koda_asked_copy(asked, at + len, out + len, step);
		if (r < 0)
			return r;
		if (memchr(out + len, '\0', step))
			return 0;
		len += step;
	}
	return -ENAMETOOLONG;
}

/* What a call is about: a descriptor, or a path below one. */
struct subject {
	int dirfd;
	uint64_t path; /* 0: the descriptor itself */
	int flags;     /* of the *at calls */
};

static int open_subject(const struct asked *asked, const struct subject *subject)
{
	char path[PATH_BYTES];
	int r;

	if (subject->path == 0)
		return koda_asked_fd(asked, subject->dirfd);
	r = copy_text(asked, subject->path, path);
	if (r < 0)
		return r;
	if (path[0])
		return koda_asked_open(asked, subject->dirfd, path,
				       !(subject->flags & AT_SYMLINK_NOFOLLOW));
	if (!(subject->flags & AT_EMPTY_PATH))
		return -ENOENT;
	return subject->dirfd == AT_FDCWD ? koda_asked_open(asked, AT_FDCWD, ".", true)
					  : koda_asked_fd(asked, subject->dirfd);
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

static long change_times(const struct asked *asked, int fd, uint64_t at)
{
	struct timespec times[2];
	int r = at != 0 ? koda_asked_copy(asked, at, times, sizeof(times)) : 0;

	if (r < 0)
		return r;
	return syscall(SYS_utimensat, fd, "", at != 0 ? times : NULL, AT_EMPTY_PATH) < 0 ? -errno
											 : 0;
}

static struct subject subject_of(const struct asked *asked)
{
	const uint64_t *a = asked->args;

	switch (asked->call) {
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

static long change(const struct asked *asked, int fd)
{
	const uint64_t *a = asked->args;

	switch (asked->call) {
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
		return change_times(asked, fd, a[2]);
	default: /* fchmodat, fchmodat2 */
		return change_mode(fd, (mode_t)a[2]);
	}
}

long koda_broker_file(const struct asked *asked)
{
	const struct subject subject = subject_of(asked);
	int fd = open_subject(asked, &subject);
	long r = -EPERM;

	if (fd < 0)
		return fd;
	if (koda_broker_may(fd, SYS_LANDLOCK_WRITE_FILE) && koda_asked_holds(asked))
		r = change(asked, fd);
	koda_asked_close(fd);
	return r;
}
