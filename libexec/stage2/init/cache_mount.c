/* SPDX-License-Identifier: MIT */
/*
 * T-24. The view of a package cache: an overlay of the host's cache, read-only, and the slot that
 * the guardian has locked (guardian/cache_slot.c). Everything that the command writes goes into the
 * slot.
 */
#include "init/cache_mount.h"

#include "fail.h"
#include "guardian/state.h"
#include "init/tree.h"
#include "init/walk.h"
#include "sys.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

#define NO_LINKS (RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS)

/* Opens a slot in this mount namespace: overlayfs refuses layers from mounts of another one. */
static int open_slot(const char *store, int slot)
{
	char path[4096 + 16];
	int fd;

	if (slot < 0)
		return -1;
	(void)snprintf(path, sizeof(path), "%s/%d", store, slot);
	fd = sys_openat2(AT_FDCWD, path, O_PATH | O_DIRECTORY, NO_LINKS);
	if (fd >= 0 && stage2_state_is_private(fd))
		return fd;
	if (fd >= 0)
		(void)close(fd);
	return -1;
}

/* Makes an overlay. Layers are named by descriptor, in /proc/self/fd: that names exactly one
 * directory, whatever bytes its path has, and the mount table inside does not show the path.
 * Returns -1 where it is not possible. */
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

/* Opens the host's cache. Fails unless it is the directory that was planned. */
static int open_lower(const struct koda_op *op)
{
	int fd = stage2_walk_open(op->text1.ptr);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		stage2_fail(KODA_LAUNCH_OPEN, op->text1.ptr, errno);
	if (st.st_dev != op->n1 || st.st_ino != op->n2)
		stage2_fail(KODA_LAUNCH_PATH_CHANGED, op->text1.ptr, EAGAIN);
	return fd;
}

/* Mounts a cache with a slot as upper layer. Returns -1 where it is not possible. */
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

int stage2_cache_mount_tree(const struct koda_op *op, int slot)
{
	int tree = mount_slot(op, slot);
	char size[32];

	if (tree >= 0) {
		stage2_tree_remember(tree, op->text1.ptr);
		return tree;
	}
	(void)snprintf(size, sizeof(size), "%llu", (unsigned long long)KODA_OP_CACHE_BYTES);
	return stage2_tree_tmpfs(op->text1.ptr, size, "0700", MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
}
