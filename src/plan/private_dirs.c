/* SPDX-License-Identifier: MIT */
#include "plan/private_dirs.h"

#include "base/error.h"
#include "base/path.h"
#include "plan/path_order.h"
#include "policy/floor.h"

#include <koda/env.h>
#include <unistd.h>

#define MIB (1024ULL * 1024)

/* Fresh and empty; the files of the host below them do not appear in the view. */
static const struct private_dir {
	const char *path;
	uint64_t bytes;
	uint64_t mode;
} private_dirs[] = {
	{ "/tmp", 4096 * MIB, 01777 },
	{ "/var/tmp", 1024 * MIB, 01777 },
	{ "/run", 64 * MIB, 0755 },
	{ "/dev/shm", 1024 * MIB, 01777 },
};

const char *koda_plan_private_dir(size_t i)
{
	static const char *const others[] = { "/dev", "/proc" };

	if (i < KODA_ARRAY_LEN(others))
		return others[i];
	i -= KODA_ARRAY_LEN(others);
	return i < KODA_ARRAY_LEN(private_dirs) ? private_dirs[i].path : NULL;
}

bool koda_plan_is_private(struct koda_span path)
{
	const char *dir;

	for (size_t i = 0; (dir = koda_plan_private_dir(i)); i++)
		if (koda_path_covers(koda_span_of(dir), path))
			return true;
	return false;
}

bool koda_plan_is_all_private(struct koda_span path)
{
	bool in_kernel_dir = koda_path_covers(koda_span_of("/dev"), path) ||
			     koda_path_covers(koda_span_of("/proc"), path);

	/* A project may lie below a temporary directory. */
	for (size_t i = 0; i < KODA_ARRAY_LEN(private_dirs); i++) {
		struct koda_span dir = koda_span_of(private_dirs[i].path);

		if (koda_path_covers(dir, path))
			return dir.len == path.len;
	}
	return in_kernel_dir;
}

int koda_plan_private_dirs(struct koda_plan *plan, const struct koda_plan_request *request,
			   struct koda_error *err)
{
	const struct koda_op dev = { .kind = KODA_OP_DEV };
	const struct koda_op authorities = { .kind = KODA_OP_FILE,
					     .n1 = 0444,
					     .text1 = koda_span_of(KODA_CA_BUNDLE_INSIDE),
					     .text2 = request->authorities };
	int r = koda_plan_add(plan, &dev, "minimal devices", err);

	for (size_t i = 0; i < KODA_ARRAY_LEN(private_dirs) && r == KODA_OK; i++) {
		const struct private_dir *dir = &private_dirs[i];
		struct koda_op op = { .kind = KODA_OP_TMPFS,
				      .n1 = dir->bytes,
				      .n2 = dir->mode,
				      .text1 = koda_span_of(dir->path) };

		r = koda_plan_add(plan, &op, "private", err);
	}
	if (r == KODA_OK && request->authorities.ptr)
		r = koda_plan_add(plan, &authorities, "net.mitm", err);
	return r;
}

/* Returns true if the parent directory of path is visible; /proc always is. */
static bool is_around_seen(const struct koda_plan_request *request, struct koda_span path)
{
	struct koda_span above = koda_plan_path_parent(path);

	return koda_plan_is_all_private(path) ||
	       koda_rules_read(request->rules, above.ptr, above.len).answer == KODA_ALLOW;
}

/* T-98. Masks files in which the kernel describes the host, if the user may read them. around,
 * unless NULL: only files on another device than that. */
static int hide_kernel_files(struct koda_plan *plan, const struct koda_plan_request *request,
			     const char *const *paths, const struct koda_fs_stat *around,
			     struct koda_error *err)
{
	const struct koda_fs_ops *fs = request->fs;
	int r = KODA_OK;

	for (; fs->may && *paths && r == KODA_OK; paths++) {
		struct koda_op op = { .kind = KODA_OP_MASK,
				      .flags = KODA_OP_FLEETING,
				      .text1 = koda_span_of(*paths) };
		struct koda_fs_stat look;

		if (!is_around_seen(request, op.text1) || !fs->may(fs->ctx, *paths, R_OK))
			continue;
		r = fs->look(fs->ctx, *paths, &look, err);
		if (r < 0 || (around && look.dev == around->dev))
			continue;
		if (look.type == KODA_FILE_DIR)
			op.flags |= KODA_OP_DIRECTORY;
		r = koda_plan_add(plan, &op, "floor.kernel_hidden", err);
	}
	return r;
}

static int hide_kernel(struct koda_plan *plan, const struct koda_plan_request *request,
		       struct koda_error *err)
{
	struct koda_fs_stat sys;
	int r = request->fs->look(request->fs->ctx, "/sys", &sys, err);

	if (r == KODA_OK)
		r = hide_kernel_files(plan, request, koda_floor_kernel_hidden, NULL, err);
	if (r == KODA_OK)
		r = hide_kernel_files(plan, request, koda_floor_kernel_mounts, &sys, err);
	return r;
}

int koda_plan_private_proc(struct koda_plan *plan, const struct koda_plan_request *request,
			   struct koda_error *err)
{
	const struct koda_op proc = { .kind = KODA_OP_PROC };
	int r = koda_plan_add(plan, &proc, "the sandbox's processes", err);

	for (const char *const *path = koda_floor_kernel_paths; *path && r == KODA_OK; path++) {
		struct koda_op op = { .kind = KODA_OP_READONLY,
				      .flags = KODA_OP_LATE,
				      .text1 = koda_span_of(*path) };
		/* Root of the host owns these files inside too and needs no capability to write
		 * them. Other users could write the sysctls of the new namespaces only. */
		bool wanted = request->as_root || strcmp(*path, "/proc/sys") == 0;
		struct koda_fs_stat look;

		if (!wanted || !koda_path_covers(koda_span_of("/proc"), op.text1))
			continue;
		r = request->fs->look(request->fs->ctx, *path, &look, err);
		if (r == KODA_OK && look.type != KODA_FILE_MISSING)
			r = koda_plan_add(plan, &op, "floor.kernel", err);
	}
	return r < 0 ? r : hide_kernel(plan, request, err);
}
