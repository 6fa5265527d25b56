/* SPDX-License-Identifier: MIT */
/*
 * T-14, T-15, T-16, T-25. The mount view, from the inside of a fresh mount namespace:
 *
 *   1. the whole view becomes private, and every tree that will be mounted somewhere is cloned;
 *   2. the whole view becomes read-only;
 *   3. the ops are applied in order: parents before children, so that a later broad one can
 *      never re-open an inner one.
 *
 * The namespace is a copy of the host's and nothing outside it is reachable, so there is no need to
 * pivot to another root: what is covered stays covered, because nobody inside may unmount.
 *
 * Paths were resolved when the plan was made. Here they are walked without following any link, and
 * what they lead to must be what it was then.
 */
#include "stage2.h"

#include "sys.h"
#include "tree.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

/* A mask has to come from somewhere: a small tmpfs with an empty directory and an empty file,
 * attached where the sandbox's /proc will cover it. */
#define MASK_AT "/proc"
/* Others may replace what is to be hidden, but not for ever. */
#define MASK_TRIES 16

/* Can be walked through, cannot be listed. */
#define VEIL_MODE 0111

/* One entry per op, in the plan's order; -1 where a op needs no tree. */
static int *trees;

/* Writable trees are cloned while the view is still writable, the others once it is read-only, and
 * so are what they are to be without another call. */
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
		if (op.flags & KODA_OP_LATE)
			continue;
		if (is_wanted(&op))
			trees[i] = koda_tree_clone(&op);
	}
}

static int make_own_tree(const struct koda_op *op)
{
	char size[32];
	char mode[32];

	(void)snprintf(size, sizeof(size), "%llu", (unsigned long long)op->n1);
	(void)snprintf(mode, sizeof(mode), "%llo", (unsigned long long)op->n2);
	return koda_tree_tmpfs(op->text1.ptr, size, mode, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
}

/* Private directories and veils, which become part of the view in their turn. */
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

/* While the slots can still be written and reached. */
static void copy_caches(const struct plan *plan, const struct go *go)
{
	struct koda_op op;
	size_t cache = 0;
	size_t i = 0;
	size_t at = 0;

	for (; koda_ops_next(plan->bytes, &at, &op); i++) {
		if (op.kind != KODA_OP_OVERLAY)
			continue;
		trees[i] = koda_cache_tree(&op, cache < KODA_SLOTS_MAX ? go->slot[cache] : -1);
		cache++;
	}
}

static void make_room(const struct plan *plan)
{
	struct koda_op_header header;

	memcpy(&header, plan->bytes, sizeof(header));
	trees = calloc(header.count + 1, sizeof(*trees));
	if (!trees)
		koda_stage2_fail("out of memory", "", ENOMEM);
	for (size_t i = 0; i < header.count; i++)
		trees[i] = -1;
}

static void attach_masks(const struct plan *plan)
{
	struct koda_op op = { .kind = KODA_OP_COUNT };
	size_t at = 0;
	int tree;

	while (op.kind != KODA_OP_MASK)
		if (!koda_ops_next(plan->bytes, &at, &op))
			return;
	tree = koda_tree_tmpfs(MASK_AT, "4096", "0700", MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
	if (mkdirat(tree, "dir", 0) < 0 || mknodat(tree, "file", S_IFREG, 0) < 0)
		koda_stage2_fail("make a mask", "", errno);
	koda_tree_attach(tree, MASK_AT, true, 0);
	(void)close(tree);
}

/* Hides what is at the path. False if it was taken away after it was opened: then there may be
 * another by now. */
static bool try_mask(const struct koda_op *op)
{
	const char *path = op->text1.ptr;
	bool late = op->flags & KODA_OP_LATE;
	int target = late ? koda_tree_target(path, true, 0755) : koda_tree_open(path);
	bool gone;
	int tree;

	/* What is out of our reach, with more privileges than the command has, is out of its reach,
	 * if that lasts. */
	if (target < 0 && errno == EACCES) {
		if (!koda_tree_is_shut(path))
			koda_stage2_fail("the way to what is to be hidden is closed", path, EAGAIN);
		return true;
	}
	/* In a copy of a cache the way there may have become something else. */
	if (target < 0 && (errno == ENOENT || errno == ENOTDIR || errno == ELOOP) &&
	    (op->flags & KODA_OP_FLEETING))
		return true;
	if (target < 0)
		koda_stage2_fail("open what is to be hidden", path, errno);
	tree = sys_open_tree(AT_FDCWD,
			     koda_tree_is_directory(target) ? MASK_AT "/dir" : MASK_AT "/file",
			     OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
	if (tree < 0)
		koda_stage2_fail("clone a mask for", path, errno);
	koda_tree_set(tree, "", AT_EMPTY_PATH, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOEXEC, path);
	gone = sys_move_mount(tree, target) < 0;
	if (gone && errno != ENOENT)
		koda_stage2_fail("hide", path, errno);
	(void)close(tree);
	(void)close(target);
	return !gone;
}

static void apply_mask(const struct koda_op *op)
{
	int tries = 0;

	while (!try_mask(op))
		if (++tries == MASK_TRIES)
			koda_stage2_fail("hide what is replaced all the time", op->text1.ptr, 0);
}

static void apply_tree(const struct koda_op *op, int tree)
{
	const char *path = op->text1.ptr;

	if (tree < 0)
		tree = koda_tree_clone(op);
	/* A veil lets nobody list it, so the way to a hole is as closed as the veil. */
	koda_tree_attach(tree, path, koda_tree_is_directory(tree),
			 op->kind == KODA_OP_HOLE ? VEIL_MODE : 0755);
	(void)close(tree);
}

static void apply(const struct koda_op *op, int tree)
{
	const char *path = op->text1.ptr;

	switch (op->kind) {
	case KODA_OP_WRITABLE:
	case KODA_OP_READONLY:
	case KODA_OP_HOLE:
	case KODA_OP_OVERLAY:
		apply_tree(op, tree);
		break;
	case KODA_OP_PIN:
		koda_tree_attach_link(tree, path);
		(void)close(tree);
		break;
	case KODA_OP_MASK:
		apply_mask(op);
		break;
	case KODA_OP_VEIL:
	case KODA_OP_TMPFS:
		koda_tree_attach(tree, path, true, 0755);
		(void)close(tree);
		break;
	case KODA_OP_FILE:
		koda_tree_file(op);
		break;
	case KODA_OP_DEV:
		koda_device_make();
		break;
	case KODA_OP_PROC:
		koda_device_proc();
		break;
	case KODA_OP_SCRATCH:
	case KODA_OP_SOCKET:
		koda_stage2_fail("the plan is for another backend", path, 0);
	case KODA_OP_HOLD:
	case KODA_OP_HOLD_FILE:
	case KODA_OP_LANDLOCK:
	case KODA_OP_RLIMIT:
	case KODA_OP_FILTER:
	case KODA_OP_DENIED_WRITE:
	case KODA_OP_DENIED_READ:
	case KODA_OP_CWD:
	case KODA_OP_ENV:
	case KODA_OP_ARG:
	case KODA_OP_TERMINAL:
	case KODA_OP_NET:
	case KODA_OP_CGROUP:
	case KODA_OP_DESCRIPTOR:
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
			koda_tree_set(AT_FDCWD, path, 0, MOUNT_ATTR_RDONLY, path);
	}
}

/* Changes every mount of the view at once. */
static void set_all(struct mount_attr attr)
{
	if (koda_tree_change(AT_FDCWD, "/", AT_RECURSIVE, &attr) < 0)
		koda_stage2_fail("change the view as a whole", "/", errno);
}

void koda_view_prepare(bool has_proc)
{
	koda_device_prepare(has_proc);
	/* Before anything is cloned: a clone of a mount that follows the host's would follow too.
	 */
	set_all((struct mount_attr){ .attr_set = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV,
				     .propagation = MS_PRIVATE });
}

void koda_view_begin(const struct plan *plan)
{
	make_room(plan);
	make_own_trees(plan);
	clone_all(plan, is_cloned_writable);
}

void koda_view_build(const struct plan *plan, const struct go *go)
{
	struct koda_op op;
	size_t i = 0;
	size_t at = 0;

	copy_caches(plan, go);
	set_all((struct mount_attr){ .attr_set = MOUNT_ATTR_RDONLY });
	clone_all(plan, is_cloned_readonly);
	attach_masks(plan);
	for (; koda_ops_next(plan->bytes, &at, &op); i++)
		apply(&op, trees[i]);
	close_own_trees(plan);
	free(trees);
}
