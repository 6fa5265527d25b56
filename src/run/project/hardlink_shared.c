/* SPDX-License-Identifier: MIT */
/* T-42. Tells whether a protected file has hard links, so that they have to be searched for. */
#include "base/fd.h"
#include "run/project/hardlink.h"
#include "run/project/inode_search.h"
#include "wire/placeholder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* How many entries of a protected directory are examined. */
#define ENTRIES_MAX 64

/* Git never runs the *.sample files that it creates. */
static bool is_sample(const char *dir, const char *name)
{
	const char *dot = strrchr(name, '.');

	return dot && strcmp(dot, ".sample") == 0 && strcmp(dir, "hooks") == 0;
}

/* Placeholders of another run are hard links of one file; all of them are protected. */
bool koda_hardlink_has_names(const struct stat *st)
{
	return S_ISREG(st->st_mode) && st->st_nlink > 1 && !koda_placeholder_is_file(st);
}

static bool may_have_names(int dir, const char *name)
{
	struct stat st;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
		return koda_hardlink_has_names(&st);
	return errno != ENOENT; /* unknown: the search will report why */
}

/* What was found in a directory. */
struct entries {
	const char *name;
	int seen;
	bool shared;
	bool links;
};

static void see_entry(struct entries *entries, int fd, const struct dirent *entry)
{
	entries->links = entries->links || entry->d_type == DT_LNK || entry->d_type == DT_UNKNOWN;
	entries->shared = (entry->d_type == DT_REG || entry->d_type == DT_UNKNOWN) &&
			  !is_sample(entries->name, entry->d_name) &&
			  may_have_names(fd, entry->d_name);
	entries->seen++;
}

/* Uses getdents64() directly: opening a DIR for each of thousands of directories takes as long as
 * reading them. True at the end of the directory. */
static bool see_entries(struct entries *entries, int fd)
{
	_Alignas(struct dirent) char bytes[4096];
	long n = 0;

	while (entries->seen < ENTRIES_MAX && !entries->shared &&
	       (n = syscall(SYS_getdents64, fd, bytes, sizeof(bytes))) > 0)
		for (long at = 0; at < n && entries->seen < ENTRIES_MAX && !entries->shared;) {
			const struct dirent *entry = (const void *)(bytes + at);

			see_entry(entries, fd, entry);
			at += entry->d_reclen;
		}
	return entries->seen < ENTRIES_MAX && !entries->shared && n == 0;
}

bool koda_hardlink_look(int dir, const char *name, const struct stat *st, bool *ret_links)
{
	struct entries entries = { .name = name };
	koda_auto_fd int fd = -1;

	*ret_links = true;
	if (!S_ISDIR(st->st_mode))
		return koda_hardlink_has_names(st);
	fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR || errno == ELOOP ||
		       (errno == EACCES && koda_inode_search_is_closed(st))))
		return false;
	if (fd < 0)
		return true; /* unknown: the search will report why */
	*ret_links = !see_entries(&entries, fd) || entries.links;
	return entries.shared;
}

bool koda_hardlink_is_shared(int dir, const char *name, const struct stat *st)
{
	bool links;

	return koda_hardlink_look(dir, name, st, &links);
}
