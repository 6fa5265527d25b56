/* SPDX-License-Identifier: MIT */
/* Directories of koda's own state, which the floor hides from every command. */
#include "guardian/state.h"

#include "sys.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

int stage2_state_open(const char *path)
{
	int fd = sys_openat2(AT_FDCWD, path, O_RDONLY | O_DIRECTORY,
			     RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS);
	char name[256];

	if (fd >= 0 || errno != ENOENT)
		return fd;
	fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	while (fd >= 0 && *path) {
		size_t len = strcspn(++path, "/");
		int below;

		memcpy(name, path, len); /* a name of a sound plan is at most 255 bytes long */
		name[len] = '\0';
		path += len;
		(void)!mkdirat(fd, name, 0700);
		below = openat(fd, name, O_NOFOLLOW | O_DIRECTORY | O_CLOEXEC | O_RDONLY);
		if (below < 0 && errno == EACCES)
			below = openat(fd, name, O_NOFOLLOW | O_DIRECTORY | O_CLOEXEC | O_PATH);
		(void)close(fd);
		fd = below;
	}
	return fd;
}

bool stage2_state_is_private(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && st.st_uid == geteuid() && (st.st_mode & 077) == 0;
}
