/* SPDX-License-Identifier: MIT */
/*
 * T-14. Shorter ways than a walk from the root, to what is cloned and to where it is mounted: a
 * name in a directory that is open. The directory was reached without following any link, and a
 * single name does not lead out of it.
 */
#include "init/mount_point.h"

#include "fail.h"
#include "init/walk.h"
#include "sys.h"

#include <errno.h>
#include <string.h>

#define KEPT_MAX 32
#define BENEATH  (RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS)

/* The trees that lead to what was mounted last, from the outermost on. Each is the top mount at its
 * path; a mount elsewhere than below it closes it. */
static struct kept_mount {
	const char *path; /* borrowed from the plan */
	size_t len;
	int fd;
} kept_mounts[KEPT_MAX];
static size_t kept_count;

/* The directory that was cloned from last. */
static struct kept_mount clone_parent = { .fd = -1 };

void stage2_mount_point_leave(const char *path)
{
	for (; kept_count > 0; kept_count--) {
		const struct kept_mount *last = &kept_mounts[kept_count - 1];

		if (path && strncmp(path, last->path, last->len) == 0 && path[last->len] == '/')
			return;
		(void)close(last->fd);
	}
}

void stage2_mount_point_keep(int tree, const char *path)
{
	if (kept_count == KEPT_MAX) {
		(void)close(tree);
		return;
	}
	kept_mounts[kept_count++] = (struct kept_mount){ path, strlen(path), tree };
}

bool stage2_mount_point_mount(int tree, const char *path)
{
	const struct kept_mount *last;
	const char *rest;
	int target = -1;
	int r;

	stage2_mount_point_leave(path);
	if (kept_count == 0)
		return false;
	last = &kept_mounts[kept_count - 1];
	rest = path + last->len + 1;
	if (strchr(rest, '/')) {
		target = sys_openat2(last->fd, rest, O_PATH | O_NOFOLLOW, BENEATH);
		if (target < 0)
			stage2_fail(KODA_LAUNCH_MOUNT_POINT, path, errno);
	}
	r = target < 0 ? sys_move_mount_at(tree, last->fd, rest) : sys_move_mount(tree, target);
	if (r < 0)
		stage2_fail(KODA_LAUNCH_MOUNT, path, errno);
	if (target >= 0)
		(void)close(target);
	return true;
}

int stage2_mount_point_clone(const char *path, unsigned int flags)
{
	const char *name = strrchr(path, '/') + 1;
	size_t len = (size_t)(name - path) - 1;
	char parent[4096];

	if (!*name || len >= sizeof(parent)) {
		errno = *name ? ENAMETOOLONG : EINVAL;
		return -1;
	}
	if (clone_parent.fd < 0 || clone_parent.len != len ||
	    memcmp(clone_parent.path, path, len) != 0) {
		stage2_mount_point_forget();
		memcpy(parent, path, len);
		parent[len] = '\0';
		clone_parent =
			(struct kept_mount){ path, len, stage2_walk_open(len ? parent : "/") };
	}
	return clone_parent.fd < 0 ? -1
				   : sys_open_tree(clone_parent.fd, name,
						   flags | AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT);
}

void stage2_mount_point_forget(void)
{
	if (clone_parent.fd >= 0)
		(void)close(clone_parent.fd);
	clone_parent.fd = -1;
}
