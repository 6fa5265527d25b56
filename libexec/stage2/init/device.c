/* SPDX-License-Identifier: MIT */
/* A /dev with the harmless nodes and nothing else, and a /proc of the new pid namespace. */
#include "init/device.h"

#include "fail.h"
#include "init/tree.h"
#include "init/walk.h"
#include "sys.h"

#include <errno.h>
#include <sys/stat.h>

const char *const stage2_device_nodes[] = { "/dev/null",    "/dev/zero", "/dev/full", "/dev/random",
					    "/dev/urandom", "/dev/tty",  NULL };

#define NODES (sizeof(stage2_device_nodes) / sizeof(stage2_device_nodes[0]) - 1)

static int node_trees[NODES];
static int dev_tree;
static int pts_tree;
static int proc_tree;

static const char *name_of(const char *path)
{
	return path + sizeof("/dev/") - 1;
}

static void clone_nodes(void)
{
	for (size_t i = 0; i < NODES; i++) {
		const char *path = stage2_device_nodes[i];
		struct stat st;

		node_trees[i] = sys_open_tree(
			AT_FDCWD, path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_SYMLINK_NOFOLLOW);
		if (node_trees[i] < 0 || fstat(node_trees[i], &st) < 0)
			stage2_fail(KODA_LAUNCH_DEVICE_CLONE, path, errno);
		if (!S_ISCHR(st.st_mode))
			stage2_fail(KODA_LAUNCH_DEVICE_NONE, path, 0);
		/* The mount point of the node. */
		if (mknodat(dev_tree, name_of(path), S_IFREG, 0) < 0)
			stage2_fail(KODA_LAUNCH_DEVICE_NODE, path, errno);
		/* T-13. The node is the host's own. Root inside is its owner and must not be able
		 * to change its mode. Using the device needs no writable mount. */
		stage2_tree_set(node_trees[i], "", AT_EMPTY_PATH,
				MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC, path);
	}
}

static void make_links(int dev)
{
	static const char *const links[][2] = { { "/proc/self/fd", "fd" },
						{ "/proc/self/fd/0", "stdin" },
						{ "/proc/self/fd/1", "stdout" },
						{ "/proc/self/fd/2", "stderr" },
						{ "pts/ptmx", "ptmx" } };

	for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++)
		if (symlinkat(links[i][0], dev, links[i][1]) < 0)
			stage2_fail(KODA_LAUNCH_DEV_LINK, links[i][1], errno);
	if (mkdirat(dev, "pts", 0755) < 0 || mkdirat(dev, "shm", 01777) < 0)
		stage2_fail(KODA_LAUNCH_DEV_DIRECTORY, "", errno);
}

/* Clones the mounted /proc with everything that covers parts of it; no later mount propagates into
 * it. */
static int clone_proc(void)
{
	int fd = stage2_walk_open("/proc");
	int tree = fd < 0 ? -1
			  : sys_open_tree(fd, "",
					  OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH |
						  AT_RECURSIVE);

	if (tree < 0)
		stage2_fail(KODA_LAUNCH_CLONE_TREE, "/proc", errno);
	stage2_tree_set(tree, "", AT_EMPTY_PATH | AT_RECURSIVE, 0, "/proc");
	(void)close(fd);
	return tree;
}

void stage2_device_prepare(bool has_proc)
{
	static const char *const pts_options[][2] = { { "mode", "620" },
						      { "ptmxmode", "666" },
						      { NULL, NULL } };

	dev_tree = stage2_tree_tmpfs("/dev", "65536", "755", MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC);
	clone_nodes();
	make_links(dev_tree);
	pts_tree = stage2_tree_make("devpts", pts_options, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC,
				    "/dev/pts");
	proc_tree =
		has_proc
			? clone_proc()
			: stage2_tree_make("proc", NULL,
					   MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC,
					   "/proc");
}

/* Mounts a tree on a name in dev_tree. Only init has access to dev_tree, so no walk is needed. */
static void attach_below_dev(int tree, const char *name)
{
	if (syscall(SYS_move_mount, tree, "", dev_tree, name, MOVE_MOUNT_F_EMPTY_PATH) < 0)
		stage2_fail(KODA_LAUNCH_DEV_MOUNT, name, errno);
	(void)close(tree);
}

void stage2_device_attach(void)
{
	stage2_tree_attach(dev_tree, "/dev", true, 0);
	for (size_t i = 0; i < NODES; i++)
		attach_below_dev(node_trees[i], name_of(stage2_device_nodes[i]));
	attach_below_dev(pts_tree, "pts");
	(void)close(dev_tree);
}

void stage2_device_attach_proc(void)
{
	stage2_tree_attach(proc_tree, "/proc", true, 0);
	(void)close(proc_tree);
}
