/* SPDX-License-Identifier: MIT */
/*
 * T-16. Plans with thousands of mounts in one tree. Each clone takes a descriptor, so they cannot
 * all be made first, and cloning from the view takes the kernel longer with every mount in it. So
 * the tree that they lie in is attached twice more, writable and read-only, where the sandbox's
 * /proc will be. Each nested mount is cloned from there in its turn. Both trees are detached before
 * /proc is mounted.
 */
#include "init/nested.h"

#include "fail.h"
#include "init/tree.h"
#include "sys.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>

#define TREES_MAX 64

/* A tree with nested ops, and the two copies of it that stay free of further mounts. */
static struct nested_tree {
	const char *path;
	int writable;
	int read_only;
} trees[TREES_MAX];
static size_t tree_count;

static bool is_below(const char *path, const char *below)
{
	size_t len = strlen(path);

	return strncmp(path, below, len) == 0 && below[len] == '/';
}

/* Returns the innermost tree that path lies in. */
static struct nested_tree *find_tree(const char *path)
{
	struct nested_tree *found = NULL;

	for (size_t i = 0; i < tree_count; i++)
		if (is_below(trees[i].path, path) &&
		    (!found || strlen(found->path) < strlen(trees[i].path)))
			found = &trees[i];
	if (!found)
		stage2_fail(KODA_LAUNCH_PLAN_NESTED, path, 0);
	return found;
}

static bool has_nested(const struct plan *plan)
{
	struct koda_op op;
	size_t at = 0;

	while (koda_ops_next(plan->bytes, &at, &op))
		if (op.flags & KODA_OP_NESTED)
			return true;
	return false;
}

void stage2_nested_begin(const struct plan *plan)
{
	struct koda_op op;
	size_t at = 0;

	if (!has_nested(plan))
		return;
	while (koda_ops_next(plan->bytes, &at, &op)) {
		if (op.kind != KODA_OP_WRITABLE || (op.flags & (KODA_OP_NESTED | KODA_OP_LATE)))
			continue;
		if (tree_count == TREES_MAX)
			stage2_fail(KODA_LAUNCH_NESTED_TREES, op.text1.ptr, E2BIG);
		trees[tree_count++] = (struct nested_tree){ .path = op.text1.ptr,
							    .writable = stage2_tree_clone(&op) };
	}
}

bool stage2_nested_is_used(void)
{
	return tree_count > 0;
}

static void name_copy(char out[64], const char *dir, char kind, size_t i)
{
	(void)snprintf(out, 64, "%s/%c%zu", dir, kind, i);
}

void stage2_nested_attach(const char *dir)
{
	for (size_t i = 0; i < tree_count; i++) {
		const struct koda_op op = { .kind = KODA_OP_READONLY,
					    .text1 = { trees[i].path, strlen(trees[i].path) } };
		char at[64];

		trees[i].read_only = stage2_tree_clone(&op);
		name_copy(at, dir, 'w', i);
		stage2_tree_attach(trees[i].writable, at, true, 0755);
		name_copy(at, dir, 'r', i);
		stage2_tree_attach(trees[i].read_only, at, true, 0755);
	}
}

int stage2_nested_clone(const struct koda_op *op)
{
	const struct nested_tree *tree = find_tree(op->text1.ptr);
	int from = op->kind == KODA_OP_READONLY ? tree->read_only : tree->writable;
	int fd = sys_openat2(from, op->text1.ptr + strlen(tree->path) + 1, O_PATH | O_NOFOLLOW,
			     RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS);

	return stage2_tree_clone_fd(op, fd);
}

void stage2_nested_end(const char *dir)
{
	for (size_t i = 0; i < tree_count; i++) {
		char at[64];

		for (const char *kind = "wr"; *kind; kind++) {
			name_copy(at, dir, *kind, i);
			if (umount2(at, MNT_DETACH | UMOUNT_NOFOLLOW) < 0)
				stage2_fail(KODA_LAUNCH_NESTED_DETACH, trees[i].path, errno);
		}
		(void)close(trees[i].writable);
		(void)close(trees[i].read_only);
	}
	tree_count = 0;
}
