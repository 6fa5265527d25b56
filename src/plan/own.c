/* SPDX-License-Identifier: MIT */
/* T-22. What is the sandbox's own and not the host's: temporary directories, devices, processes. */
#include "plan/plan.h"

#include "base/diag.h"
#include "base/path.h"
#include "policy/floor.h"

#include <koda/env.h>

#define MIB (1024ULL * 1024)

/* The sandbox's own, fresh and empty; what lies below on the host is not there inside. */
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

const char *koda_plan_own_dir(size_t i)
{
	static const char *const others[] = { "/dev", "/proc" };

	if (i < KODA_ARRAY_LEN(others))
		return others[i];
	i -= KODA_ARRAY_LEN(others);
	return i < KODA_ARRAY_LEN(private_dirs) ? private_dirs[i].path : NULL;
}

bool koda_plan_is_own(struct koda_span path)
{
	const char *dir;

	for (size_t i = 0; (dir = koda_plan_own_dir(i)); i++)
		if (koda_path_covers(koda_span_of(dir), path))
			return true;
	return false;
}

bool koda_plan_is_all_own(struct koda_span path)
{
	bool own = koda_path_covers(koda_span_of("/dev"), path) ||
		   koda_path_covers(koda_span_of("/proc"), path);

	/* A project may lie below a temporary directory. */
	for (size_t i = 0; i < KODA_ARRAY_LEN(private_dirs); i++) {
		struct koda_span dir = koda_span_of(private_dirs[i].path);

		if (koda_path_covers(dir, path))
			return dir.len == path.len;
	}
	return own;
}

int koda_plan_own(struct koda_plan *plan, const struct koda_plan_request *request,
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

int koda_plan_proc(struct koda_plan *plan, const struct koda_plan_request *request,
		   struct koda_error *err)
{
	const struct koda_op proc = { .kind = KODA_OP_PROC };
	int r = koda_plan_add(plan, &proc, "the sandbox's processes", err);

	for (const char *const *path = koda_floor_kernel_paths; *path && r == KODA_OK; path++) {
		struct koda_op op = { .kind = KODA_OP_READONLY,
				      .flags = KODA_OP_LATE,
				      .text1 = koda_span_of(*path) };
		/* Root outside owns all of these inside as well and needs no capability to write;
		 * for anyone else it is the sysctls of the new namespaces. */
		bool wanted = request->as_root || strcmp(*path, "/proc/sys") == 0;
		struct koda_look look;

		if (!wanted || !koda_path_covers(koda_span_of("/proc"), op.text1))
			continue;
		r = request->world->look(request->world->ctx, *path, &look, err);
		if (r == KODA_OK && look.thing != KODA_THING_MISSING)
			r = koda_plan_add(plan, &op, "floor.kernel", err);
	}
	return r;
}
