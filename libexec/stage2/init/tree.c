/* SPDX-License-Identifier: MIT */
#include "init/tree.h"

#include "fail.h"
#include "init/mount_point.h"
#include "init/walk.h"
#include "sys.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statfs.h>

#define NO_LINKS (RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS)
/* With the mounts below. */
#define CLONE (OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE)

static dev_t own_devices[4096]; /* file systems made here, in which mount points may be created */
static size_t own_count;

/* mount_setattr returns EBUSY while another process, such as the one that makes the network
 * namespace, has write access to the mount to update an access time. */
#define BUSY_TRIES 1000 /* a millisecond apart */

/* T-27. The attributes that statfs shows in f_flags, with the numbers they have there. */
#define READ_BACK (MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC)

static int check_change(int fd, const char *path, uint64_t set)
{
	struct statfs now;

	if ((path[0] ? statfs(path, &now) : fstatfs(fd, &now)) < 0)
		return -1;
	if (set & READ_BACK & ~(uint64_t)now.f_flags) {
		errno = ENOTSUP;
		return -1;
	}
	return 0;
}

int stage2_tree_change(int fd, const char *path, unsigned int flags, struct mount_attr *attr)
{
	int r;

	for (int tries = 0; (r = sys_mount_setattr(fd, path, flags, attr)) < 0; tries++) {
		if (errno != EBUSY || tries == BUSY_TRIES)
			break;
		(void)poll(NULL, 0, 1);
	}
	return r < 0 ? r : check_change(fd, path, attr->attr_set);
}

void stage2_tree_set(int fd, const char *path, unsigned int flags, uint64_t set, const char *name)
{
	struct mount_attr attr = { .attr_set = set, .propagation = MS_PRIVATE };

	if (stage2_tree_change(fd, path, flags, &attr) < 0)
		stage2_fail(KODA_LAUNCH_MOUNT_READ_ONLY, name, errno);
}

/* Fails unless the clone is what was planned; the root of a clone is the object that it was cloned
 * from. */
static int check_clone(const struct koda_op *op, int tree)
{
	const char *path = op->text1.ptr;
	struct stat st;

	if (tree < 0 || fstat(tree, &st) < 0)
		stage2_fail(errno == EACCES ? KODA_LAUNCH_OPEN : KODA_LAUNCH_CLONE_TREE, path,
			    errno);
	if ((op->n1 || op->n2) && (st.st_dev != op->n1 || st.st_ino != op->n2))
		stage2_fail(KODA_LAUNCH_PATH_CHANGED, path, EAGAIN);
	if (S_ISLNK(st.st_mode) != (op->kind == KODA_OP_PIN))
		stage2_fail(KODA_LAUNCH_PATH_BECAME_LINK, path, EAGAIN);
	/* A late one is cloned from the view as it is now, where it may be writable. */
	if (op->kind == KODA_OP_READONLY && (op->flags & KODA_OP_LATE))
		stage2_tree_set(tree, "", AT_EMPTY_PATH | (S_ISDIR(st.st_mode) ? AT_RECURSIVE : 0),
				MOUNT_ATTR_RDONLY, path);
	return tree;
}

int stage2_tree_clone_fd(const struct koda_op *op, int fd)
{
	int tree = fd < 0 ? -1 : sys_open_tree(fd, "", CLONE | AT_EMPTY_PATH);

	if (fd < 0)
		stage2_fail(KODA_LAUNCH_OPEN, op->text1.ptr, errno);
	(void)close(fd);
	return check_clone(op, tree);
}

int stage2_tree_clone(const struct koda_op *op)
{
	const char *path = op->text1.ptr;

	if (op->flags & KODA_OP_LATE)
		return stage2_tree_clone_fd(op, stage2_tree_target(path, true, 0755));
	if (strcmp(path, "/") == 0)
		return stage2_tree_clone_fd(op, stage2_walk_open(path));
	return check_clone(op, stage2_mount_point_clone(path, CLONE));
}

int stage2_tree_make(const char *type, const char *const options[][2], unsigned int attributes,
		     const char *path)
{
	int fs = sys_fsopen(type);
	int tree;

	if (fs < 0)
		stage2_fail(KODA_LAUNCH_FS_OPEN, type, errno);
	for (; options && (*options)[0]; options++)
		if (sys_fsconfig(fs, FSCONFIG_SET_STRING, (*options)[0], (*options)[1]) < 0)
			stage2_fail(KODA_LAUNCH_FS_CONFIGURE, path, errno);
	if (sys_fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL) < 0)
		stage2_fail(KODA_LAUNCH_FS_CREATE, path, errno);
	tree = sys_fsmount(fs, attributes);
	if (tree < 0)
		stage2_fail(KODA_LAUNCH_FS_MOUNT, path, errno);
	(void)close(fs);
	return tree;
}

void stage2_tree_remember(int tree, const char *path)
{
	struct stat st;

	if (fstat(tree, &st) < 0 || own_count == sizeof(own_devices) / sizeof(own_devices[0]))
		stage2_fail(KODA_LAUNCH_FS_COUNT, path, errno);
	own_devices[own_count++] = st.st_dev;
}

int stage2_tree_tmpfs(const char *path, const char *size, const char *mode, unsigned int attributes)
{
	const char *const options[][2] = { { "size", size }, { "mode", mode }, { NULL, NULL } };
	int tree = stage2_tree_make("tmpfs", options, attributes, path);

	stage2_tree_remember(tree, path);
	return tree;
}

static bool is_ours(dev_t device)
{
	for (size_t i = 0; i < own_count; i++)
		if (own_devices[i] == device)
			return true;
	return false;
}

/* Makes a directory or an empty file at path, if the directory above is in a file system made here.
 * Nothing is ever made in trees of the host. */
static int make_target(char *path, bool is_dir, mode_t mode)
{
	char *name = strrchr(path, '/');
	struct stat st;
	int parent;
	int r;

	*name = '\0';
	parent = stage2_walk_open(name == path ? "/" : path);
	*name = '/';
	if (parent < 0 || fstat(parent, &st) < 0)
		return -1;
	if (!is_ours(st.st_dev)) {
		errno = ENOENT;
		return -1;
	}
	r = is_dir ? mkdirat(parent, name + 1, mode) : mknodat(parent, name + 1, S_IFREG, 0);
	(void)close(parent);
	return r;
}

int stage2_tree_target(const char *path, bool is_dir, mode_t mode)
{
	size_t len = strlen(path);
	char prefix[4096];
	int fd = stage2_walk_open(path);

	if (fd >= 0 || errno != ENOENT || len >= sizeof(prefix))
		return fd;
	for (size_t i = 1; i <= len; i++) {
		if (path[i] != '/' && path[i] != '\0')
			continue;
		memcpy(prefix, path, i);
		prefix[i] = '\0';
		fd = stage2_walk_open(prefix);
		if (fd >= 0)
			(void)close(fd);
		else if (errno != ENOENT || make_target(prefix, is_dir || i < len, mode) < 0)
			return -1;
	}
	return stage2_walk_open(path);
}

void stage2_tree_file(const struct koda_op *op)
{
	const char *path = op->text1.ptr;
	int target = stage2_tree_target(path, false, 0755);
	int fd = target < 0 ? -1 : sys_openat2(AT_FDCWD, path, O_WRONLY | O_NOFOLLOW, NO_LINKS);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		stage2_fail(KODA_LAUNCH_FILE_MAKE, path, errno);
	/* The file existed: files of the host are never written to. */
	if (!is_ours(st.st_dev) || !S_ISREG(st.st_mode) || st.st_size != 0)
		stage2_fail(KODA_LAUNCH_FILE_MAKE, path, EEXIST);
	for (size_t at = 0; at < op->text2.len;) {
		ssize_t n = write(fd, op->text2.ptr + at, op->text2.len - at);

		if (n <= 0)
			stage2_fail(KODA_LAUNCH_FILE_WRITE, path, n < 0 ? errno : EIO);
		at += (size_t)n;
	}
	if (fchmod(fd, (mode_t)op->n1 & 0777) < 0)
		stage2_fail(KODA_LAUNCH_FILE_MODE, path, errno);
	(void)close(fd);
	(void)close(target);
}

void stage2_tree_attach(int tree, const char *path, bool is_dir, mode_t mode)
{
	int target = stage2_tree_target(path, is_dir, mode);

	if (target < 0)
		stage2_fail(KODA_LAUNCH_MOUNT_POINT, path, errno);
	if (sys_move_mount(tree, target) < 0)
		stage2_fail(KODA_LAUNCH_MOUNT, path, errno);
	(void)close(target);
}

void stage2_tree_mount(int tree, const char *path, mode_t mode)
{
	if (!stage2_mount_point_mount(tree, path))
		stage2_tree_attach(tree, path, stage2_tree_is_directory(tree), mode);
}

void stage2_tree_attach_link(int tree, const char *path)
{
	int target = stage2_walk_open(path);

	if (target < 0 || sys_move_mount(tree, target) < 0)
		stage2_fail(KODA_LAUNCH_PIN_LINK, path, errno);
	(void)close(target);
}

bool stage2_tree_is_directory(int fd)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		stage2_fail(KODA_LAUNCH_MOUNT_STAT, "", errno);
	return S_ISDIR(st.st_mode);
}
