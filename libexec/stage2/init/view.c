/* SPDX-License-Identifier: MIT */
/*
 * T-14, T-15, T-16, T-25. Builds the mount view in a new mount namespace:
 *
 *   1. All mounts become private, and writable trees are cloned.
 *   2. All mounts become read-only, and read-only trees are cloned.
 *   3. The ops are applied in order, parents before children, so that a later broad op never
 *      covers an inner one.
 *
 * The namespace is a copy of the host's, and nothing outside of it is reachable, so pivot_root is
 * not needed: the command has no capability to unmount, and what is covered stays covered.
 *
 * Paths were resolved when the plan was made. Here they are walked without following any link, and
 * must still lead to the objects that were planned.
 */
#include "init/view.h"

#include "fail.h"
#include "init/cache_mount.h"
#include "init/device.h"
#include "init/mount_point.h"
#include "init/nested.h"
#include "init/tree.h"
#include "init/walk.h"
#include "sys.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

/* Masks are clones of an empty file and two empty directories in a small tmpfs. It is attached
 * where the sandbox's /proc will cover it, and kept open. */
#define MASK_AT "/proc"
static int mask_dir = -1;
static int mask_file = -1;
static int mask_empty = -1;
/* How often a path may be replaced while it is being hidden. */
#define MASK_TRIES 16

/* Search permission only: the directory can be walked through, but not listed. */
#define VEIL_MODE 0111

/* One entry per op, in the plan's order; -1 where an op needs no tree. */
static int *trees;

/* Writable trees are cloned while the view is still writable, the others once it is read-only. So
 * neither needs another mount_setattr. */
static bool is_cloned_writable(const struct koda_op *op)
{
	return op->kind == KODA_OP_WRITABLE || op->kind == KODA_OP_PIN;
}

static bool is_cloned_readonly(const struct koda_op *op)
{
	return op->kind == KODA_OP_READONLY || op->kind == KODA_OP_HOLE;
}

static void clone_all(const struct plan *plan, bool (*is_wanted)(const struct koda_op *op))
{
	struct koda_op op;
	size_t i = 0;
	size_t at = 0;

	for (; koda_ops_next(plan->bytes, &at, &op); i++) {
		if (op.flags & (KODA_OP_LATE | KODA_OP_NESTED))
			continue;
		if (is_wanted(&op))
			trees[i] = stage2_tree_clone(&op);
	}
	stage2_mount_point_forget();
}

static int make_own_tree(const struct koda_op *op)
{
	char size[32];
	char mode[32];

	(void)snprintf(size, sizeof(size), "%llu", (unsigned long long)op->n1);
	(void)snprintf(mode, sizeof(mode), "%llo", (unsigned long long)op->n2);
	return stage2_tree_tmpfs(op->text1.ptr, size, mode, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
}

/* Makes private directories and veils, which are attached in their turn. */
static void make_own_trees(const struct plan *plan)
{
	struct koda_op op;
	size_t i = 0;
	size_t at = 0;

	for (; koda_ops_next(plan->bytes, &at, &op); i++) {
		if (op.kind == KODA_OP_TMPFS || op.kind == KODA_OP_VEIL)
			trees[i] = make_own_tree(&op);
	}
}

/* Mounts caches while their slots are still writable and reachable. */
static void copy_caches(const struct plan *plan, const struct init_orders *orders)
{
	struct koda_op op;
	size_t cache = 0;
	size_t i = 0;
	size_t at = 0;

	for (; koda_ops_next(plan->bytes, &at, &op); i++) {
		if (op.kind != KODA_OP_OVERLAY)
			continue;
		trees[i] = stage2_cache_mount_tree(
			&op, cache < STAGE2_SLOTS_MAX ? orders->slot[cache] : -1);
		cache++;
	}
}

static void make_room(const struct plan *plan)
{
	struct koda_op_header header;

	memcpy(&header, plan->bytes, sizeof(header));
	trees = calloc(header.count + 1, sizeof(*trees));
	if (!trees)
		stage2_fail(KODA_LAUNCH_MEMORY, "", ENOMEM);
	for (size_t i = 0; i < header.count; i++)
		trees[i] = -1;
}

static void attach_masks(const struct plan *plan)
{
	struct koda_op op = { .kind = KODA_OP_COUNT };
	size_t at = 0;
	int tree;

	while (op.kind != KODA_OP_MASK && !stage2_nested_is_used())
		if (!koda_ops_next(plan->bytes, &at, &op))
			return;
	tree = stage2_tree_tmpfs(MASK_AT, "4096", "0700", MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
	if (mkdirat(tree, "dir", 0) < 0 || mknodat(tree, "file", S_IFREG, 0) < 0 ||
	    mkdirat(tree, "empty", 0) < 0 || fchmodat(tree, "empty", 0555, 0) < 0)
		stage2_fail(KODA_LAUNCH_MASK_MAKE, "", errno);
	stage2_tree_attach(tree, MASK_AT, true, 0);
	mask_dir = openat(tree, "dir", O_PATH | O_CLOEXEC);
	mask_file = openat(tree, "file", O_PATH | O_CLOEXEC);
	mask_empty = openat(tree, "empty", O_PATH | O_CLOEXEC);
	if (mask_dir < 0 || mask_file < 0 || mask_empty < 0)
		stage2_fail(KODA_LAUNCH_MASK_OPEN, "", errno);
	stage2_nested_attach(MASK_AT);
	/* A clone has the attributes of the mount that it was cloned from. */
	stage2_tree_set(tree, "", AT_EMPTY_PATH, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOEXEC, MASK_AT);
	(void)close(tree);
}

static void drop_masks(void)
{
	if (mask_dir >= 0)
		(void)close(mask_dir);
	if (mask_file >= 0)
		(void)close(mask_file);
	if (mask_empty >= 0)
		(void)close(mask_empty);
}

static int mask_for(const struct koda_op *op, int target)
{
	if (!stage2_tree_is_directory(target))
		return mask_file;
	return op->flags & KODA_OP_EMPTY ? mask_empty : mask_dir;
}

/* Mounts a mask on the path. Returns false if the object was removed after it was opened: another
 * one may have its name by now. */
static bool try_mask(const struct koda_op *op)
{
	const char *path = op->text1.ptr;
	bool late = op->flags & KODA_OP_LATE;
	int target = late ? stage2_tree_target(path, true, 0755) : stage2_walk_open(path);
	bool gone;
	int tree;

	/* The command has fewer privileges, so a path that init cannot reach is out of its reach,
	 * too, if the closed directory on the way belongs to another user. */
	if (target < 0 && errno == EACCES) {
		if (!stage2_walk_is_shut(path))
			stage2_fail(KODA_LAUNCH_HIDE_CLOSED, path, EAGAIN);
		return true;
	}
	/* In a copy of a cache a directory on the way may have been replaced. */
	if (target < 0 && (errno == ENOENT || errno == ENOTDIR || errno == ELOOP) &&
	    (op->flags & KODA_OP_FLEETING))
		return true;
	if (target < 0 && errno == ENOENT)
		stage2_fail(KODA_LAUNCH_PATH_CHANGED, path, EAGAIN);
	if (target < 0)
		stage2_fail(KODA_LAUNCH_HIDE_OPEN, path, errno);
	tree = sys_open_tree(mask_for(op, target), "",
			     OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH);
	if (tree < 0)
		stage2_fail(KODA_LAUNCH_MASK_CLONE, path, errno);
	gone = sys_move_mount(tree, target) < 0;
	if (gone && errno != ENOENT)
		stage2_fail(KODA_LAUNCH_HIDE, path, errno);
	(void)close(tree);
	(void)close(target);
	return !gone;
}

static void apply_mask(const struct koda_op *op)
{
	int tries = 0;

	while (!try_mask(op))
		if (++tries == MASK_TRIES)
			stage2_fail(KODA_LAUNCH_HIDE_REPLACED, op->text1.ptr, 0);
}

/* Clones the tree of an op that was not cloned before. */
static int clone_now(const struct koda_op *op)
{
	if ((op->flags & KODA_OP_NESTED) && !(op->flags & KODA_OP_LATE))
		return stage2_nested_clone(op);
	return stage2_tree_clone(op);
}

static void apply_tree(const struct koda_op *op, int tree)
{
	const char *path = op->text1.ptr;

	if (tree < 0)
		tree = clone_now(op);
	/* A veil cannot be listed, and the directories that lead to a hole in it cannot either. */
	stage2_tree_mount(tree, path, op->kind == KODA_OP_HOLE ? VEIL_MODE : 0755);
	if (op->kind != KODA_OP_OVERLAY) {
		stage2_mount_point_keep(tree, path);
		return;
	}
	/* Mount points may have to be made in a copy of a cache. */
	stage2_mount_point_leave(NULL);
	(void)close(tree);
}

static void apply(const struct koda_op *op, int tree)
{
	const char *path = op->text1.ptr;

	if (koda_op_stage(op->kind) == KODA_STAGE_LANDLOCK)
		stage2_fail(KODA_LAUNCH_PLAN_BACKEND, path, 0);
	if (op->kind == KODA_OP_PIN || op->kind == KODA_OP_MASK || op->kind == KODA_OP_VEIL ||
	    op->kind == KODA_OP_TMPFS || op->kind == KODA_OP_DEV || op->kind == KODA_OP_PROC)
		stage2_mount_point_leave(NULL);
	switch (op->kind) {
	case KODA_OP_WRITABLE:
	case KODA_OP_READONLY:
	case KODA_OP_HOLE:
	case KODA_OP_OVERLAY:
		apply_tree(op, tree);
		break;
	case KODA_OP_PIN:
		tree = tree < 0 ? clone_now(op) : tree;
		stage2_tree_attach_link(tree, path);
		(void)close(tree);
		break;
	case KODA_OP_MASK:
		apply_mask(op);
		break;
	case KODA_OP_VEIL:
	case KODA_OP_TMPFS:
		stage2_tree_attach(tree, path, true, 0755);
		(void)close(tree);
		break;
	case KODA_OP_FILE:
		stage2_tree_file(op);
		break;
	case KODA_OP_DEV:
		stage2_device_attach();
		break;
	case KODA_OP_PROC:
		stage2_nested_end(MASK_AT);
		stage2_device_attach_proc();
		break;
		KODA_OPS(KODA_OP_CASE_OUTSIDE_VIEW)
	case KODA_OP_COUNT:
		break;
	}
}

/* Veils and /dev are finished: nothing is created in them any more. */
static void close_own_trees(const struct plan *plan)
{
	struct koda_op op;
	size_t at = 0;

	while (koda_ops_next(plan->bytes, &at, &op)) {
		const char *path = op.kind == KODA_OP_DEV ? "/dev" : op.text1.ptr;

		if (op.kind == KODA_OP_VEIL || op.kind == KODA_OP_DEV ||
		    (op.kind == KODA_OP_TMPFS && (op.flags & KODA_OP_CLOSED)))
			stage2_tree_set(AT_FDCWD, path, 0, MOUNT_ATTR_RDONLY, path);
	}
}

/* Changes every mount of the view at once. */
static void set_all(struct mount_attr attr)
{
	if (stage2_tree_change(AT_FDCWD, "/", AT_RECURSIVE, &attr) < 0)
		stage2_fail(KODA_LAUNCH_CHANGE_VIEW, "/", errno);
}

void stage2_view_prepare(bool has_proc)
{
	stage2_device_prepare(has_proc);
	/* Before anything is cloned: the clone of a mount that receives propagation would receive
	 * it, too. */
	set_all((struct mount_attr){ .attr_set = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV,
				     .propagation = MS_PRIVATE });
}

void stage2_view_begin(const struct plan *plan)
{
	make_room(plan);
	stage2_nested_begin(plan);
	make_own_trees(plan);
	clone_all(plan, is_cloned_writable);
}

void stage2_view_build(const struct plan *plan, const struct init_orders *orders)
{
	struct koda_op op;
	size_t i = 0;
	size_t at = 0;

	copy_caches(plan, orders);
	set_all((struct mount_attr){ .attr_set = MOUNT_ATTR_RDONLY });
	clone_all(plan, is_cloned_readonly);
	attach_masks(plan);
	stage2_mount_point_forget(); /* opened by nested.c */
	for (; koda_ops_next(plan->bytes, &at, &op); i++)
		apply(&op, trees[i]);
	stage2_mount_point_leave(NULL);
	close_own_trees(plan);
	drop_masks();
	free(trees);
}
