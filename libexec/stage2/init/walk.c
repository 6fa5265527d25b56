/* SPDX-License-Identifier: MIT */
#include "init/walk.h"

#include "sys.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

int stage2_walk_open(const char *path)
{
	return sys_openat2(AT_FDCWD, path, O_PATH | O_NOFOLLOW,
			   RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS);
}

/* T-15. The capabilities of a user namespace do not apply to files whose group is not mapped. So a
 * directory that another command of this user has closed for a moment (chmod) is closed for init as
 * well. */
bool stage2_walk_is_shut(const char *path)
{
	char above[4096];
	size_t len = strlen(path);
	struct stat st;
	bool shut;
	int fd;

	if (len >= sizeof(above))
		return false;
	memcpy(above, path, len + 1);
	while ((fd = stage2_walk_open(above)) < 0 && errno == EACCES && len > 1) {
		while (len > 1 && above[len - 1] != '/')
			len--;
		len -= len > 1;
		above[len] = '\0';
	}
	/* A FUSE mount of another user does not even permit fstat. */
	shut = fd >= 0 && len < strlen(path) && (fstat(fd, &st) < 0 || st.st_uid != geteuid());
	if (fd >= 0)
		(void)close(fd);
	return shut;
}
