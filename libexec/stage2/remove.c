/* SPDX-License-Identifier: MIT */
/*
 * Removing what a command made: as deep and as closed as it liked. So directories are moved up to
 * the top before they are emptied, and nothing here recurses, nor follows a link.
 */
#include "stage2.h"

#include "sys.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

/* Directories that are emptied; a command that makes more leaves some. */
#define DIRS_MAX 1000000

/* One removal. */
struct removal {
	DIR *top;
	unsigned int moved; /* directories that were */
	uint64_t until_ms;
};

uint64_t koda_remove_now(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static bool is_late(const struct removal *removal)
{
	return removal->until_ms != UINT64_MAX && koda_remove_now() >= removal->until_ms;
}

/* Whatever its mode was. There is no call that changes a mode and follows no link, but a descriptor
 * has a name. */
int koda_remove_open(int at, const char *name)
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
	int fd = koda_remove_open(at, name);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (!dir && fd >= 0)
		(void)close(fd);
	return dir;
}

static bool is_name(const char *name)
{
	return strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

/* Empties a directory directly below top: files go, directories move up. */
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
		/* What is to move must be open to its owner. */
		fd = koda_remove_open(dirfd(dir), entry->d_name);
		if (fd >= 0)
			(void)close(fd);
		(void)snprintf(up, sizeof(up), ".koda-up-%u", removal->moved++);
		(void)renameat(dirfd(dir), entry->d_name, dirfd(removal->top), up);
	}
	if (dir)
		(void)closedir(dir);
}

/* One look through the top; false if nothing is left. */
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

void koda_remove_below(int fd, uint64_t until_ms)
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
