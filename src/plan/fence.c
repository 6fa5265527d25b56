/* SPDX-License-Identifier: MIT */
/*
 * The plan for a machine without namespaces: no view, but grants (fragment.c); no network of its
 * own, but a second filter that has init asked about every connection; no private directories, but
 * a temporary one that lasts as long as the command.
 */
#include "plan/plan.h"

#include "base/diag.h"
#include "base/path.h"
#include "plan/filter.h"
#include "plan/rights.h"
#include "policy/policy.h"

#include <koda/env.h>

/* Of the host's devices and of its kernel's files, what tells nothing of anybody else. A process's
 * own files in /proc cannot be granted: its number is not known before it is there. */
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

/* The temporary directory, and in it what programs are to trust. */
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

/* T-17. Connecting by path needs no right of Landlock's, so init compares inodes. */
static int plan_sockets(struct koda_plan *plan, const struct koda_plan_request *request,
			struct koda_error *err)
{
	int r = KODA_OK;

	for (const char *const *s = request->sockets; s && *s && r == KODA_OK; s++) {
		struct koda_look look;

		r = request->world->look(request->world->ctx, *s, &look, err);
		if (r == KODA_OK && look.thing == KODA_THING_OTHER) {
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

/* The same for every plan. */
static int plan_filters(struct koda_plan *plan, struct koda_error *err)
{
	koda_auto_buf struct koda_buf asked = KODA_BUF_INIT(65536);
	int r = add_filter(plan, koda_filter_program(), 0, err);

	if (r == KODA_OK && koda_asked_program(&asked) < 0)
		r = koda_fail_nomem(err);
	if (r == KODA_OK)
		r = add_filter(plan, koda_buf_span(&asked), KODA_OP_ASKED, err);
	return r;
}

int koda_plan_fence_filters(struct koda_buf *out, struct koda_error *err)
{
	koda_auto_plan struct koda_plan plan = KODA_PLAN_INIT;
	int r = plan_filters(&plan, err);

	return r < 0 ? r : koda_plan_encode(&plan, out, err);
}

/* Places where the user could write if nothing kept the command from it. */
static int plan_canaries(struct koda_plan *plan, const struct koda_plan_request *request,
			 struct koda_error *err)
{
	const char *const dirs[] = { "/", "/tmp", request->place->home };
	int r = KODA_OK;

	for (size_t i = 0; i < KODA_ARRAY_LEN(dirs) && r == KODA_OK; i++) {
		struct koda_op op = { .kind = KODA_OP_DENIED_WRITE };
		struct koda_look look;

		if (!dirs[i] || dirs[i][0] != '/')
			continue;
		op.text1 = koda_span_of(dirs[i]);
		r = request->world->look(request->world->ctx, dirs[i], &look, err);
		if (r == KODA_OK && look.thing == KODA_THING_DIR &&
		    koda_rules_write(request->rules, op.text1.ptr, op.text1.len).answer ==
			    KODA_DENY)
			r = koda_plan_add(plan, &op, NULL, err);
	}
	return r;
}

int koda_plan_fence(struct koda_plan *plan, const struct koda_plan_request *request,
		    struct koda_error *err)
{
	int r = plan_scratch(plan, request, err);

	if (koda_rules_write(request->rules, "/", 1).answer == KODA_ALLOW)
		return koda_fail_at(err, KODA_E_DENIED, 0, "fs.allow_write",
				    "/ cannot be writable as a whole; name what has to be");
	for (size_t i = 0; i < KODA_ARRAY_LEN(common) && r == KODA_OK; i++)
		r = add_grant(plan, common[i].path, common[i].rights, err);
	if (r == KODA_OK)
		r = koda_plan_fragments(plan, request, err);
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
