/* SPDX-License-Identifier: MIT */
/*
 * Removes what a command made: a tree of any depth, with directories of any mode. Directories are
 * moved up to the top before they are emptied, so nothing here recurses. No link is followed.
 */
#include "guardian/remove.h"

#include "guardian/clock.h"
#include "sys.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* Directories that are emptied at most; a command that makes more leaves some. */
#define DIRS_MAX 1000000

/* The removal of one tree. */
struct removal {
	DIR *top;
	unsigned int moved; /* number of directories moved up */
	uint64_t until_ms;
};

static bool is_late(const struct removal *removal)
{
	return removal->until_ms != UINT64_MAX && stage2_clock_now() >= removal->until_ms;
}

/* fchmodat cannot refuse links, so the mode is changed by the name of a descriptor in /proc. */
int stage2_remove_open(int at, const char *name)
{
	const int how = O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
	int fd = openat(at, name, O_RDONLY | how);
	struct stat st;
	char path[32];

	if (fd >= 0 && fstat(fd, &st) == 0 && (st.st_mode & 0700) == 0700)
		return fd;
	if (fd >= 0)
		(void)close(fd);
	fd = openat(at, name, O_PATH | how);
	if (fd < 0)
		return -1;
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	(void)!chmod(path, 0700);
	(void)close(fd);
	return openat(at, name, O_RDONLY | how);
}

static DIR *open_dir(int at, const char *name)
{
	int fd = stage2_remove_open(at, name);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (!dir && fd >= 0)
		(void)close(fd);
	return dir;
}

static bool is_name(const char *name)
{
	return strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

/* Empties a directory directly below top: removes files and moves directories up. */
static void empty(struct removal *removal, const char *name)
{
	DIR *dir = open_dir(dirfd(removal->top), name);
	const struct dirent *entry;

	while (dir && !is_late(removal) && (entry = readdir(dir))) {
		char up[32];
		int fd;

		if (!is_name(entry->d_name) || unlinkat(dirfd(dir), entry->d_name, 0) == 0 ||
		    unlinkat(dirfd(dir), entry->d_name, AT_REMOVEDIR) == 0)
			continue;
		/* Moving a directory changes its "..", which needs write permission for it. */
		fd = stage2_remove_open(dirfd(dir), entry->d_name);
		if (fd >= 0)
			(void)close(fd);
		(void)snprintf(up, sizeof(up), ".koda-up-%u", removal->moved++);
		(void)renameat(dirfd(dir), entry->d_name, dirfd(removal->top), up);
	}
	if (dir)
		(void)closedir(dir);
}

/* Goes through the top once. Returns false if nothing is left. */
static bool clear_top(struct removal *removal)
{
	const struct dirent *entry;
	bool left = false;

	rewinddir(removal->top);
	while (!is_late(removal) && (entry = readdir(removal->top))) {
		if (!is_name(entry->d_name) || unlinkat(dirfd(removal->top), entry->d_name, 0) == 0)
			continue;
		left = true;
		empty(removal, entry->d_name);
		(void)unlinkat(dirfd(removal->top), entry->d_name, AT_REMOVEDIR);
	}
	return left;
}

void stage2_remove_below(int fd, uint64_t until_ms)
{
	struct removal removal = { .top = fdopendir(fd), .until_ms = until_ms };

	if (!removal.top) {
		(void)close(fd);
		return;
	}
	for (unsigned int before = 1; before != removal.moved && removal.moved < DIRS_MAX;) {
		before = removal.moved;
		if (!clear_top(&removal) || is_late(&removal))
			break;
	}
	(void)closedir(removal.top);
}
