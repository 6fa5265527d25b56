/* SPDX-License-Identifier: MIT */
/* T-32. A mark alone proves nothing: commands can set times and modes of their own files. */
#include "wire/placeholder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* A placeholder cannot be opened until it has its final mode. Waits for that, but at most so often
 * for all names within so many seconds, because commands can make directories that never get it. */
#define MAKING_WAIT_MS 1
#define MAKING_TRIES   100
#define MAKING_SECONDS 10

static bool is_own_entry(int dir, const char *name)
{
	struct stat st;

	if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return true;
	if (strcmp(name, KODA_PLACEHOLDER_IGNORE) != 0)
		return false;
	/* The guardian removes it just before the placeholder. */
	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT;
	return koda_placeholder_is_ignore(&st);
}

/* Calls getdents64 itself: opendir(3) could fail for lack of memory. */
bool koda_placeholder_has_own_entries_only(int fd)
{
	_Alignas(struct dirent) char bytes[2048];
	bool only = true;
	long n = -1;

	while (only && (n = syscall(SYS_getdents64, fd, bytes, sizeof(bytes))) > 0)
		for (long at = 0; only && at < n;) {
			const struct dirent *entry = (const void *)(bytes + at);

			only = is_own_entry(fd, entry->d_name);
			at += entry->d_reclen;
		}
	/* ENOENT: the directory was removed meanwhile and has no entries. */
	return only && (n == 0 || errno == ENOENT);
}

static int open_dir(int at, const char *name)
{
	return openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* Waits MAKING_WAIT_MS. Returns false after MAKING_TRIES calls within MAKING_SECONDS. */
static bool wait_for_mode(void)
{
	static _Thread_local time_t since;
	static _Thread_local int tries;
	struct timespec now;

	if (clock_gettime(CLOCK_MONOTONIC, &now) < 0)
		return false;
	if (tries == 0 || now.tv_sec - since > MAKING_SECONDS) {
		since = now.tv_sec;
		tries = 0;
	}
	if (tries == MAKING_TRIES)
		return false;
	tries++;
	(void)poll(NULL, 0, MAKING_WAIT_MS);
	return true;
}

bool koda_placeholder_is(int at, const char *name, const struct stat *st)
{
	struct stat now = *st;
	bool only;
	int fd = -1;

	if (koda_placeholder_is_socket(now.st_mode))
		return true;
	while (koda_placeholder_is_marked(&now)) {
		fd = open_dir(at, name);
		/* Removed meanwhile: the placeholder of a run that has ended. */
		if (fd < 0 && errno == ENOENT)
			return true;
		if (fd >= 0 || errno != EACCES || !koda_placeholder_is_making(now.st_mode) ||
		    !wait_for_mode())
			break;
		if (fstatat(at, name, &now, AT_SYMLINK_NOFOLLOW) < 0)
			return errno == ENOENT;
	}
	if (fd < 0)
		return false;
	only = koda_placeholder_has_own_entries_only(fd);
	(void)close(fd);
	return only;
}

bool koda_placeholder_is_vacant(const char *path, struct stat *ret_st)
{
	return lstat(path, ret_st) < 0 || koda_placeholder_is(AT_FDCWD, path, ret_st);
}
