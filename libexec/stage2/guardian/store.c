/* SPDX-License-Identifier: MIT */
/*
 * T-32. Placeholder directories between two runs. Making and removing a directory allocates and
 * frees blocks and inodes, which costs ten times as much as renaming it. So the last run moves
 * placeholders to koda's state, which the floor hides from every command, and the next run moves
 * them back.
 *
 * A directory only goes back to the name in the very directory (device, inode, birth time) in which
 * it was made. A process that still has it open, from a sandbox in which the name was not
 * protected, can put files into it by that descriptor. It could have done so by the name, and
 * reaches nothing else. Owner, ACL and label are those of a directory made there.
 *
 * Nothing depends on the store. Where the state is on another file system or mount, or the file
 * system has no birth times, directories are made and removed.
 */
#include "guardian/store.h"

#include "fail.h"
#include "guardian/clock.h"
#include "guardian/placeholder_clear.h"
#include "sys.h"
#include "wire/placeholder.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#ifndef RENAME_NOREPLACE
#define RENAME_NOREPLACE 1
#endif

/* Each takes a block of the file system. */
#define STORED_MAX 2048
/* Directories that no run has used for so long are removed. */
#define STORED_SECONDS (30L * 24 * 60 * 60)
#define KEY_MAX        128
#define KEY_FIELDS     (SYS_STATX_INODE | SYS_STATX_BIRTH)

static const char *store_path; /* borrowed from the plan; NULL: the plan has no store */
static int store = -1;

static bool is_private(const struct stat *st)
{
	return S_ISDIR(st->st_mode) && st->st_uid == geteuid() && (st->st_mode & 0777) == 0700;
}

static int open_dir(const char *path)
{
	return sys_openat2(AT_FDCWD, path, O_RDONLY | O_DIRECTORY,
			   RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS);
}

/* Opens the store, if it is a directory that only this user can enter. Returns -1 with errno. */
static int open_store(const char *path)
{
	struct stat st;

	if (fstatat(AT_FDCWD, path, &st, AT_SYMLINK_NOFOLLOW) < 0 || !is_private(&st)) {
		errno = ENOENT;
		return -1;
	}
	return open_dir(path);
}

void stage2_store_use(const struct plan *plan)
{
	struct koda_op op;
	struct stat st;
	size_t at = 0;

	while (koda_ops_next(plan->bytes, &at, &op))
		if (op.kind == KODA_OP_STORE)
			store_path = op.text1.ptr;
	if (!store_path)
		return;
	store = open_store(store_path);
	/* A path with a link (ELOOP) is the user's choice; then there is no store. */
	if (store < 0 && errno != ENOENT && errno != ELOOP)
		stage2_fail(KODA_LAUNCH_STORE_OPEN, store_path, errno);
	if (store >= 0 && (fstat(store, &st) < 0 || !is_private(&st)))
		stage2_fail(KODA_LAUNCH_STORE_REPLACED, store_path, 0);
}

/* Makes the store, if koda's state exists: a home without it is left as it was. Called when a
 * directory is to be kept, and not before, because a parent of the store may have to be reserved.
 */
static void make_store(void)
{
	const char *leaf = store_path ? strrchr(store_path, '/') + 1 : NULL;
	char parent_path[4096];
	struct stat st;
	int fd = -1;

	if (store_path && store < 0 && (size_t)(leaf - store_path) < sizeof(parent_path)) {
		memcpy(parent_path, store_path, (size_t)(leaf - store_path));
		parent_path[leaf - store_path] = '\0';
		fd = open_dir(parent_path);
	}
	if (fd >= 0 && fstat(fd, &st) == 0 && is_private(&st) &&
	    (mkdirat(fd, leaf, 0700) == 0 || errno == EEXIST))
		store = open_store(store_path);
	if (fd >= 0)
		(void)close(fd);
	store_path = NULL; /* tried once */
}

/* Writes the name of the directory in the store. */
static bool make_key(int parent, const char *name, bool tracked, char ret[KEY_MAX])
{
	struct sys_statx dir;
	int len;

	if (store < 0 || syscall(SYS_statx, parent, "", AT_EMPTY_PATH, KEY_FIELDS, &dir) < 0 ||
	    (dir.mask & KEY_FIELDS) != KEY_FIELDS)
		return false;
	len = snprintf(ret, KEY_MAX, "%x.%x-%llx-%x.%x.%x%c%s", dir.device[0], dir.device[1],
		       (unsigned long long)dir.inode, dir.birth[0], dir.birth[1], dir.birth[2],
		       tracked ? '+' : '-', name);
	return len > 0 && len < KEY_MAX;
}

static bool move(int from, const char *old, int to, const char *new)
{
	return syscall(SYS_renameat2, from, old, to, new, RENAME_NOREPLACE) == 0;
}

/* Opens a placeholder in the store and sets its mode. Returns -1 if it is none: what was moved here
 * was examined before, and may have been exchanged for a link or a hard link to another file. Those
 * are never opened, nor is their mode changed. */
static int open_placeholder(const char *key, mode_t mode, struct stat *ret_st)
{
	int fd;

	if (!S_ISDIR(ret_st->st_mode) || !koda_placeholder_is_marked(ret_st))
		return -1;
	fd = openat(store, key, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0 && fstat(fd, ret_st) == 0 && koda_placeholder_is_marked(ret_st) &&
	    ((ret_st->st_mode & 0777) == mode ||
	     fchmod(fd, mode | (ret_st->st_mode & S_ISGID)) == 0))
		return fd;
	if (fd >= 0)
		(void)close(fd);
	return -1;
}

/* Opens a placeholder in the store whose mode and contents are right. Returns -1 if it has to be
 * examined more closely. Its modification time is read last: it shows entries made meanwhile. */
static int open_unchanged(const char *key, struct stat *ret_st)
{
	int fd;

	if (!S_ISDIR(ret_st->st_mode) || !koda_placeholder_is_marked(ret_st))
		return -1;
	fd = openat(store, key, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0 && koda_placeholder_has_own_entries_only(fd) && fstat(fd, ret_st) == 0 &&
	    koda_placeholder_is_marked(ret_st) && (ret_st->st_mode & 0777) == KODA_PLACEHOLDER_MODE)
		return fd;
	if (fd >= 0)
		(void)close(fd);
	return -1;
}

/* Renames an entry to a name that no key has. No run takes or removes it. */
static void set_aside(const char *key)
{
	char aside[KEY_MAX + 1];

	(void)snprintf(aside, sizeof(aside), "=%s", key);
	(void)move(store, key, store, aside);
}

/* Returns true if an entry must not go back. A process that had it open may have put files into it
 * and set the time again. Files that the user has put there go back, but not as a repository. */
static bool is_unfit(const char *key, const char *name, const struct stat *st)
{
	if (!S_ISDIR(st->st_mode))
		return true;
	return (koda_placeholder_is_marked(st) || strcmp(name, ".git") == 0) &&
	       !koda_placeholder_is(store, key, st);
}

/* Returns true if the name is the open directory, and that is still a placeholder. */
static bool has_arrived(int parent, const char *name, const struct stat *open)
{
	struct stat named;

	return fstatat(parent, name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
	       koda_placeholder_is_marked(&named) && named.st_dev == open->st_dev &&
	       named.st_ino == open->st_ino;
}

/* The mode is set before the move: only this user can enter the store. */
bool stage2_store_take(int parent, const char *name, bool tracked)
{
	char key[KEY_MAX];
	struct stat st;
	bool taken;
	int fd;

	if (!make_key(parent, name, tracked, key) ||
	    fstatat(store, key, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return false;
	fd = open_unchanged(key, &st);
	if (fd < 0 && is_unfit(key, name, &st)) {
		set_aside(key);
		return false;
	}
	if (fd < 0)
		fd = open_placeholder(key, KODA_PLACEHOLDER_MODE, &st);
	taken = move(store, key, parent, name) && fd >= 0 && has_arrived(parent, name, &st);
	if (fd >= 0)
		(void)close(fd);
	return taken;
}

static bool has_ignore(int parent, const char *name)
{
	char path[KEY_MAX + sizeof(KODA_PLACEHOLDER_IGNORE)];
	struct stat st;

	(void)snprintf(path, sizeof(path), "%s/" KODA_PLACEHOLDER_IGNORE, name);
	return fstatat(parent, path, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Counts the entries: those found at first, and those that this run has added. */
static bool has_room(void)
{
	static nlink_t links;
	struct stat st;

	if (links == 0)
		links = fstat(store, &st) == 0 ? st.st_nlink : STORED_MAX;
	return links++ < STORED_MAX;
}

/* If an entry was made before the directory was moved, its modification time shows it, and it goes
 * back. So does anything else that has the name by then. */
bool stage2_store_put(int parent, const char *name)
{
	char key[KEY_MAX];
	struct stat st;
	bool known;
	int fd;

	make_store();
	if (!make_key(parent, name, has_ignore(parent, name), key) || !has_room() ||
	    !move(parent, name, store, key))
		return false;
	known = fstatat(store, key, &st, AT_SYMLINK_NOFOLLOW) == 0;
	/* Times can be set, so the contents are examined, too. */
	fd = known ? open_unchanged(key, &st) : -1;
	if (fd < 0 && known && koda_placeholder_is(store, key, &st))
		fd = open_placeholder(key, KODA_PLACEHOLDER_MODE, &st);
	if (fd >= 0) {
		(void)close(fd);
		return true;
	}
	if (move(store, key, parent, name))
		return false;
	/* Another one has been made meanwhile. The next run moves a directory back. */
	if (!known || !S_ISDIR(st.st_mode))
		set_aside(key);
	return true;
}

void stage2_store_sweep(const char *path, uint64_t until_ms)
{
	int fd = open_store(path);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;

	while (dir && stage2_clock_now() < until_ms && (entry = readdir(dir))) {
		struct stat st;

		/* The modification time is the mark of a placeholder; rename sets the change
		 * time. */
		if (entry->d_name[0] != '.' &&
		    fstatat(fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		    S_ISDIR(st.st_mode) && st.st_ctime < time(NULL) - STORED_SECONDS)
			stage2_placeholder_clear(fd, entry->d_name);
	}
	if (dir)
		(void)closedir(dir);
	else if (fd >= 0)
		(void)close(fd);
}
