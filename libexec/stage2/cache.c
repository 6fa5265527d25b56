/* SPDX-License-Identifier: MIT */
/*
 * T-24. Package caches, copied on write. The guardian takes a slot for each: a directory that no
 * other run uses, by a lock that the kernel drops with the guardian. Init mounts the host's cache
 * with the slot on top, so that whatever is written goes into the slot and nothing to the host.
 *
 * Two runs never share a slot: what happens to an upper directory with two views is undefined. The
 * second run takes the next slot. Where no slot can be had, or the kernel or the file system cannot
 * do it, the cache is an empty directory in memory: commands work, only slower.
 */
#include "stage2.h"

#include "sys.h"
#include "tree.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#define SLOTS    16
#define NO_LINKS (RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS)

static int held[KODA_SLOTS_MAX]; /* the guardian's locked slots */
static size_t held_count;

/* The directory at path, for the user alone; made, with those above, if it is missing. */
static int open_store(const char *path)
{
	int fd = sys_openat2(AT_FDCWD, path, O_RDONLY | O_DIRECTORY, NO_LINKS);
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

/* The directory name in dir; made if it is missing. */
static int open_below(int dir, const char *name)
{
	int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd >= 0 || errno != ENOENT || (mkdirat(dir, name, 0700) < 0 && errno != EEXIST))
		return fd;
	return openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* Nobody else can get into it, so nobody else can have put anything there. */
static bool is_private(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && st.st_uid == geteuid() && (st.st_mode & 077) == 0;
}

static bool make_parts(int slot)
{
	return (mkdirat(slot, "upper", 0700) == 0 || errno == EEXIST) &&
	       (mkdirat(slot, "work", 0700) == 0 || errno == EEXIST);
}

/* Locks the first free slot of a store, and keeps it; its number, or -1. */
static int8_t take_slot(const char *store)
{
	int dir = open_store(store);
	int8_t taken = -1;

	for (int8_t n = 0; dir >= 0 && taken < 0 && n < SLOTS; n++) {
		char slot[16];
		int fd;

		(void)snprintf(slot, sizeof(slot), "%d", n);
		fd = open_below(dir, slot);
		if (fd < 0)
			break;
		if (is_private(fd) && flock(fd, LOCK_EX | LOCK_NB) == 0 && make_parts(fd)) {
			held[held_count++] = fd;
			taken = n;
		} else {
			(void)close(fd);
		}
	}
	if (dir >= 0)
		(void)close(dir);
	return taken;
}

void koda_cache_hold(const struct plan *plan, struct go *ret_go)
{
	struct koda_op op;
	size_t cache = 0;
	size_t at = 0;

	memset(ret_go->slot, -1, sizeof(ret_go->slot));
	while (koda_ops_next(plan->bytes, &at, &op))
		if (op.kind == KODA_OP_OVERLAY && cache < KODA_SLOTS_MAX)
			ret_go->slot[cache++] = take_slot(op.text2.ptr);
}

void koda_cache_undo(void)
{
	for (size_t i = 0; i < held_count; i++) {
		if (unlinkat(held[i], "work/work", AT_REMOVEDIR) < 0 && errno == ENOTEMPTY)
			(void)!fchmodat(held[i], "work/work", 0700, 0);
		/* And with it the lock: whoever goes on to remove placeholders has no cache. */
		(void)close(held[i]);
	}
	held_count = 0;
}

/* A slot as this mount namespace has it: a mount of another one cannot be used here. */
static int open_slot(const char *store, int slot)
{
	char path[4096 + 16];
	int fd;

	if (slot < 0)
		return -1;
	(void)snprintf(path, sizeof(path), "%s/%d", store, slot);
	fd = sys_openat2(AT_FDCWD, path, O_PATH | O_DIRECTORY, NO_LINKS);
	if (fd >= 0 && is_private(fd))
		return fd;
	if (fd >= 0)
		(void)close(fd);
	return -1;
}

/* Layers are named by descriptor: that says exactly which directory is meant, whatever bytes its
 * path has, and tells nobody inside where it is. -1 where it is not possible. */
static int make_overlay(int lower, int upper, int work)
{
	char text[3][32];
	const char *const options[][2] = { { "lowerdir", text[0] },
					   { "upperdir", text[1] },
					   { "workdir", text[2] } };
	const int fds[] = { lower, upper, work };
	int fs = sys_fsopen("overlay");
	int tree = -1;
	int r = fs < 0 ? -1 : sys_fsconfig(fs, FSCONFIG_SET_FLAG, "userxattr", NULL);

	for (size_t i = 0; i < 3 && r == 0; i++) {
		(void)snprintf(text[i], sizeof(text[i]), "/proc/self/fd/%d", fds[i]);
		r = fds[i] < 0
			    ? -1
			    : sys_fsconfig(fs, FSCONFIG_SET_STRING, options[i][0], options[i][1]);
	}
	if (r == 0 && sys_fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL) == 0)
		tree = sys_fsmount(fs, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
	if (fs >= 0)
		(void)close(fs);
	return tree;
}

/* The host's cache; it must still be the one that was planned. */
static int open_lower(const struct koda_op *op)
{
	int fd = koda_tree_open(op->text1.ptr);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		koda_stage2_fail("open", op->text1.ptr, errno);
	if (st.st_dev != op->n1 || st.st_ino != op->n2)
		koda_stage2_fail("a path changed while the sandbox was being made", op->text1.ptr,
				 EAGAIN);
	return fd;
}

/* The view of a cache with a slot on top; -1 where it is not possible. */
static int mount_slot(const struct koda_op *op, int slot)
{
	int top = open_slot(op->text2.ptr, slot);
	int lower;
	int upper;
	int work;
	int tree;

	if (top < 0)
		return -1;
	lower = open_lower(op);
	upper = openat(top, "upper", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	work = openat(top, "work", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	tree = make_overlay(lower, upper, work);
	(void)close(top);
	(void)close(lower);
	if (upper >= 0)
		(void)close(upper);
	if (work >= 0)
		(void)close(work);
	return tree;
}

int koda_cache_tree(const struct koda_op *op, int slot)
{
	int tree = mount_slot(op, slot);
	char size[32];

	if (tree >= 0) {
		koda_tree_remember(tree, op->text1.ptr);
		return tree;
	}
	(void)snprintf(size, sizeof(size), "%llu", (unsigned long long)KODA_OP_CACHE_BYTES);
	return koda_tree_tmpfs(op->text1.ptr, size, "0700", MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
}
