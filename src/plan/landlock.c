/* SPDX-License-Identifier: MIT */
/*
 * The plan for a machine without namespaces. Landlock rules (landlock_grants.c) replace the view. A
 * second filter, by which init performs every connect(2) for the command, replaces the network
 * namespace. One temporary directory, which lasts as long as the command, replaces the private
 * ones.
 */
#include "plan/landlock.h"

#include "base/error.h"
#include "base/path.h"
#include "plan/filter.h"
#include "plan/landlock_grants.h"
#include "plan/landlock_rights.h"
#include "plan/lockdown.h"
#include "plan/notify_filter.h"
#include "policy/policy.h"

#include <koda/env.h>

/* Devices and kernel files that reveal nothing about other users and processes. /proc/PID of the
 * command cannot be granted: the pid is unknown when the rules are made. */
static const struct {
	const char *path;
	uint64_t rights;
} common[] = {
	{ "/dev/null", RIGHTS_DEVICE },       { "/dev/zero", RIGHTS_DEVICE },
	{ "/dev/full", RIGHTS_DEVICE },       { "/dev/random", RIGHTS_DEVICE },
	{ "/dev/urandom", RIGHTS_DEVICE },    { "/dev/tty", RIGHTS_DEVICE },
	{ "/proc/cpuinfo", RIGHTS_READ },     { "/proc/meminfo", RIGHTS_READ },
	{ "/proc/stat", RIGHTS_READ },        { "/proc/loadavg", RIGHTS_READ },
	{ "/proc/uptime", RIGHTS_READ },      { "/proc/version", RIGHTS_READ },
	{ "/proc/filesystems", RIGHTS_READ }, { "/proc/sys", RIGHTS_READ },
};

static int add_grant(struct koda_plan *plan, const char *path, uint64_t rights,
		     struct koda_error *err)
{
	const struct koda_op op = { .kind = KODA_OP_LANDLOCK,
				    .flags = KODA_OP_EXACT,
				    .n1 = rights,
				    .text1 = koda_span_of(path) };

	return koda_plan_add(plan, &op, NULL, err);
}

/* Plans the temporary directory, and the CA bundle in it. */
static int plan_scratch(struct koda_plan *plan, const struct koda_plan_request *request,
			struct koda_error *err)
{
	const struct koda_op scratch = { .kind = KODA_OP_SCRATCH,
					 .text1 = koda_span_of(request->scratch) };
	koda_auto_free char *bundle = NULL;
	int r = koda_plan_add(plan, &scratch, "its own while it runs", err);

	if (r == KODA_OK)
		r = add_grant(plan, request->scratch, RIGHTS_TEMPORARY, err);
	if (r == KODA_OK && request->authorities.ptr)
		r = koda_path_join(request->scratch, KODA_CA_BUNDLE_NAME, &bundle, err);
	if (r == KODA_OK && bundle) {
		const struct koda_op file = { .kind = KODA_OP_FILE,
					      .n1 = 0444,
					      .text1 = koda_span_of(bundle),
					      .text2 = request->authorities };

		r = koda_plan_add(plan, &file, "net.mitm", err);
	}
	return r;
}

/* T-17. Landlock has no right for connect(2) by path, so the broker in init compares inodes. */
static int plan_sockets(struct koda_plan *plan, const struct koda_plan_request *request,
			struct koda_error *err)
{
	int r = KODA_OK;

	for (const char *const *s = request->sockets; s && *s && r == KODA_OK; s++) {
		struct koda_fs_stat look;

		r = request->fs->look(request->fs->ctx, *s, &look, err);
		if (r == KODA_OK && look.type == KODA_FILE_OTHER) {
			const struct koda_op op = { .kind = KODA_OP_SOCKET,
						    .n1 = look.dev,
						    .n2 = look.ino,
						    .text1 = koda_span_of(*s) };

			r = koda_plan_add(plan, &op, "a socket of the host", err);
		}
	}
	return r;
}

static int add_filter(struct koda_plan *plan, struct koda_span program, uint32_t flags,
		      struct koda_error *err)
{
	const struct koda_op op = { .kind = KODA_OP_FILTER, .flags = flags, .text1 = program };

	return koda_plan_add(plan, &op, NULL, err);
}

/* Plans both filters, which do not depend on the request. */
static int plan_filters(struct koda_plan *plan, struct koda_error *err)
{
	koda_auto_buf struct koda_buf notify = KODA_BUF_INIT(65536);
	int r = add_filter(plan, koda_filter_program(), 0, err);

	if (r == KODA_OK && koda_notify_filter_program(&notify) < 0)
		r = koda_fail_nomem(err);
	if (r == KODA_OK)
		r = add_filter(plan, koda_buf_span(&notify), KODA_OP_NOTIFY, err);
	return r;
}

int koda_plan_landlock_filters(struct koda_buf *out, struct koda_error *err)
{
	koda_auto_plan struct koda_plan plan = KODA_PLAN_INIT;
	int r = plan_filters(&plan, err);

	return r < 0 ? r : koda_plan_encode(&plan, out, err);
}

/* Adds the self-check: directories in which the user could create a file without a sandbox. */
static int plan_canaries(struct koda_plan *plan, const struct koda_plan_request *request,
			 struct koda_error *err)
{
	const char *const dirs[] = { "/", "/tmp", request->place->home };
	int r = KODA_OK;

	for (size_t i = 0; i < KODA_ARRAY_LEN(dirs) && r == KODA_OK; i++) {
		struct koda_op op = { .kind = KODA_OP_DENIED_WRITE };
		struct koda_fs_stat look;

		if (!dirs[i] || dirs[i][0] != '/')
			continue;
		op.text1 = koda_span_of(dirs[i]);
		r = request->fs->look(request->fs->ctx, dirs[i], &look, err);
		if (r == KODA_OK && look.type == KODA_FILE_DIR &&
		    koda_rules_write(request->rules, op.text1.ptr, op.text1.len).answer ==
			    KODA_DENY)
			r = koda_plan_add(plan, &op, NULL, err);
	}
	return r;
}

int koda_plan_landlock(struct koda_plan *plan, const struct koda_plan_request *request,
		       struct koda_error *err)
{
	int r = plan_scratch(plan, request, err);

	if (koda_rules_write(request->rules, "/", 1).answer == KODA_ALLOW)
		return koda_fail_at(err, KODA_E_DENIED, 0, "fs.allow_write",
				    "/ cannot be writable as a whole; name what has to be");
	for (size_t i = 0; i < KODA_ARRAY_LEN(common) && r == KODA_OK; i++)
		r = add_grant(plan, common[i].path, common[i].rights, err);
	if (r == KODA_OK)
		r = koda_plan_landlock_grants(plan, request, err);
	if (r == KODA_OK)
		r = plan_sockets(plan, request, err);
	if (r == KODA_OK)
		r = koda_plan_limits(plan, request, err);
	if (r == KODA_OK)
		r = plan_filters(plan, err);
	if (r == KODA_OK)
		r = plan_canaries(plan, request, err);
	if (r == KODA_OK)
		r = koda_plan_command(plan, request, err);
	return r;
}
