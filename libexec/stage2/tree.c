/* SPDX-License-Identifier: MIT */
#include "tree.h"

#include "sys.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statfs.h>

#define NO_LINKS (RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS)

static dev_t own_devices[4096]; /* file systems made here, in which mount points may be created */
static size_t own_count;

/* Whoever reads beside us, as the process that makes the network does, keeps the mount busy while
 * it notes the time of that. */
#define BUSY_TRIES 1000 /* of a millisecond */

/* T-27. What a mount says of itself; the numbers are those of the attributes. */
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

int koda_tree_change(int fd, const char *path, unsigned int flags, struct mount_attr *attr)
{
	int r;

	for (int tries = 0; (r = sys_mount_setattr(fd, path, flags, attr)) < 0; tries++) {
		if (errno != EBUSY || tries == BUSY_TRIES)
			break;
		(void)poll(NULL, 0, 1);
	}
	return r < 0 ? r : check_change(fd, path, attr->attr_set);
}

void koda_tree_set(int fd, const char *path, unsigned int flags, uint64_t set, const char *name)
{
	struct mount_attr attr = { .attr_set = set, .propagation = MS_PRIVATE };

	if (koda_tree_change(fd, path, flags, &attr) < 0)
		koda_stage2_fail("make a mount read-only", name, errno);
}

/* The object at path, by a walk that follows no link. */
int koda_tree_open(const char *path)
{
	return sys_openat2(AT_FDCWD, path, O_PATH | O_NOFOLLOW, NO_LINKS);
}

/* T-15. The privileges of a user namespace do not reach where the group is none of its own, so a
 * directory that another command of the same user has closed for a moment keeps us out as well. */
bool koda_tree_is_shut(const char *path)
{
	char above[4096];
	size_t len = strlen(path);
	struct stat st;
	bool shut;
	int fd;

	if (len >= sizeof(above))
		return false;
	memcpy(above, path, len + 1);
	while ((fd = koda_tree_open(above)) < 0 && errno == EACCES && len > 1) {
		while (len > 1 && above[len - 1] != '/')
			len--;
		len -= len > 1;
		above[len] = '\0';
	}
	/* Who does not even tell whose it is, as a file system of another user, is not ours. */
	shut = fd >= 0 && len < strlen(path) && (fstat(fd, &st) < 0 || st.st_uid != geteuid());
	if (fd >= 0)
		(void)close(fd);
	return shut;
}

int koda_tree_clone(const struct koda_op *op)
{
	const char *path = op->text1.ptr;
	bool is_link = op->kind == KODA_OP_PIN;
	bool late = op->flags & KODA_OP_LATE;
	int fd = late ? koda_tree_target(path, true, 0755) : koda_tree_open(path);
	unsigned int flags = OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH;
	struct stat st;
	int tree;

	if (fd < 0 || fstat(fd, &st) < 0)
		koda_stage2_fail("open", path, errno);
	if ((op->n1 || op->n2) && (st.st_dev != op->n1 || st.st_ino != op->n2))
		koda_stage2_fail("a path changed while the sandbox was being made", path, EAGAIN);
	if (S_ISLNK(st.st_mode) != is_link)
		koda_stage2_fail("a path became a link while the sandbox was being made", path,
				 EAGAIN);
	if (S_ISDIR(st.st_mode))
		flags |= AT_RECURSIVE;
	tree = sys_open_tree(fd, "", flags);
	if (tree < 0)
		koda_stage2_fail("clone the tree at", path, errno);
	(void)close(fd);
	/* A late one comes from the view as it has become, where it may be writable. */
	if (op->kind == KODA_OP_READONLY && late)
		koda_tree_set(tree, "", AT_EMPTY_PATH | (flags & AT_RECURSIVE), MOUNT_ATTR_RDONLY,
			      path);
	return tree;
}

int koda_tree_make(const char *type, const char *const options[][2], unsigned int attributes,
		   const char *path)
{
	int fs = sys_fsopen(type);
	int tree;

	if (fs < 0)
		koda_stage2_fail("make a file system", type, errno);
	for (; options && (*options)[0]; options++)
		if (sys_fsconfig(fs, FSCONFIG_SET_STRING, (*options)[0], (*options)[1]) < 0)
			koda_stage2_fail("configure a file system for", path, errno);
	if (sys_fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL) < 0)
		koda_stage2_fail("create a file system for", path, errno);
	tree = sys_fsmount(fs, attributes);
	if (tree < 0)
		koda_stage2_fail("mount a file system for", path, errno);
	(void)close(fs);
	return tree;
}

void koda_tree_remember(int tree, const char *path)
{
	struct stat st;

	if (fstat(tree, &st) < 0 || own_count == sizeof(own_devices) / sizeof(own_devices[0]))
		koda_stage2_fail("too many file systems", path, errno);
	own_devices[own_count++] = st.st_dev;
}

int koda_tree_tmpfs(const char *path, const char *size, const char *mode, unsigned int attributes)
{
	const char *const options[][2] = { { "size", size }, { "mode", mode }, { NULL, NULL } };
	int tree = koda_tree_make("tmpfs", options, attributes, path);

	koda_tree_remember(tree, path);
	return tree;
}

static bool is_ours(dev_t device)
{
	for (size_t i = 0; i < own_count; i++)
		if (own_devices[i] == device)
			return true;
	return false;
}

/* Makes the object at path, a directory or an empty file, if the directory above is in a file
 * system made here; in the host's trees nothing ever is. */
static int make_target(char *path, bool is_dir, mode_t mode)
{
	char *name = strrchr(path, '/');
	struct stat st;
	int parent;
	int r;

	*name = '\0';
	parent = koda_tree_open(name == path ? "/" : path);
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

int koda_tree_target(const char *path, bool is_dir, mode_t mode)
{
	size_t len = strlen(path);
	char prefix[4096];
	int fd = koda_tree_open(path);

	if (fd >= 0 || errno != ENOENT || len >= sizeof(prefix))
		return fd;
	for (size_t i = 1; i <= len; i++) {
		if (path[i] != '/' && path[i] != '\0')
			continue;
		memcpy(prefix, path, i);
		prefix[i] = '\0';
		fd = koda_tree_open(prefix);
		if (fd >= 0)
			(void)close(fd);
		else if (errno != ENOENT || make_target(prefix, is_dir || i < len, mode) < 0)
			return -1;
	}
	return koda_tree_open(path);
}

void koda_tree_file(const struct koda_op *op)
{
	const char *path = op->text1.ptr;
	int target = koda_tree_target(path, false, 0755);
	int fd = target < 0 ? -1 : sys_openat2(AT_FDCWD, path, O_WRONLY | O_NOFOLLOW, NO_LINKS);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		koda_stage2_fail("make the file", path, errno);
	/* Found rather than made: nothing of the host's is ever written to. */
	if (!is_ours(st.st_dev) || !S_ISREG(st.st_mode) || st.st_size != 0)
		koda_stage2_fail("make the file", path, EEXIST);
	for (size_t at = 0; at < op->text2.len;) {
		ssize_t n = write(fd, op->text2.ptr + at, op->text2.len - at);

		if (n <= 0)
			koda_stage2_fail("write the file", path, n < 0 ? errno : EIO);
		at += (size_t)n;
	}
	if (fchmod(fd, (mode_t)op->n1 & 0777) < 0)
		koda_stage2_fail("give the file its mode", path, errno);
	(void)close(fd);
	(void)close(target);
}

void koda_tree_attach(int tree, const char *path, bool is_dir, mode_t mode)
{
	int target = koda_tree_target(path, is_dir, mode);

	if (target < 0)
		koda_stage2_fail("open the mount point", path, errno);
	if (sys_move_mount(tree, target) < 0)
		koda_stage2_fail("mount on", path, errno);
	(void)close(target);
}

void koda_tree_attach_link(int tree, const char *path)
{
	int target = koda_tree_open(path);

	if (target < 0 || sys_move_mount(tree, target) < 0)
		koda_stage2_fail("pin the link", path, errno);
	(void)close(target);
}

bool koda_tree_is_directory(int fd)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		koda_stage2_fail("look at what is to be mounted", "", errno);
	return S_ISDIR(st.st_mode);
}
