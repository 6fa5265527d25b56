/* SPDX-License-Identifier: MIT */
/*
 * T-48. The none backend runs a command without a sandbox, because a person asked for that. It gets
 * a clean environment and the limits that need no sandbox. The helper koda-sandbox-bare takes the
 * launcher's place, so that the launcher itself has no mode without a sandbox.
 */
#include "base/buf.h"
#include "base/error.h"
#include "base/strv.h"
#include "run/backend/backend.h"
#include "wire/report.h"

#include <inttypes.h>
#include <sys/resource.h>

#define HELPER "koda-sandbox-bare"

static struct koda_finding held(bool by_kernel, const char *why)
{
	if (by_kernel)
		return (struct koda_finding){ KODA_ENFORCEMENT_ENFORCED, "", "" };
	return (struct koda_finding){ KODA_ENFORCEMENT_EMULATED, why, "run without --no-sandbox" };
}

static bool judge(const struct koda_machine *machine, struct koda_findings *ret_findings)
{
	static const enum koda_clause limits[] = { KODA_CLAUSE_OPEN_FILES, KODA_CLAUSE_FILE_SIZE,
						   KODA_CLAUSE_CPU_TIME, KODA_CLAUSE_CORE_DUMPS };
	const bool as_root = machine->as_root;

	for (size_t i = 0; i < KODA_CLAUSE_COUNT; i++)
		ret_findings->clause[i] =
			(struct koda_finding){ KODA_ENFORCEMENT_REFUSED, "there is no sandbox",
					       "run without --no-sandbox" };
	for (size_t i = 0; i < KODA_ARRAY_LEN(limits); i++)
		ret_findings->clause[limits[i]] = held(!as_root, "root can raise it again");
	ret_findings->clause[KODA_CLAUSE_MEMORY] =
		held(false, "each process has a limit of its own, if less than the trust mode's "
			    "was asked for");
	if (!as_root)
		ret_findings->clause[KODA_CLAUSE_PROCESS_COUNT] =
			held(false, "the user's other processes count, too");
	ret_findings->clause[KODA_CLAUSE_WALL_TIME] =
		held(false, "only the command's process group is ended");
	ret_findings->clause[KODA_CLAUSE_OUTPUT] = held(true, "");
	return true;
}

/* The limit of memory as a whole needs init, which does not exist here. */
static bool is_limit(const struct koda_op *op)
{
	return op->kind == KODA_OP_RLIMIT && op->flags != RLIMIT_RSS && op->flags != RLIMIT_MEMLOCK;
}

/* Writes the format of libexec/bare/limits.h. */
static int list_limits(const struct koda_plan *plan, struct koda_buf *out, struct koda_error *err)
{
	int r = koda_buf_add(out, "", 0);

	for (size_t i = 0; i < plan->count && r == KODA_OK; i++) {
		const struct koda_op *op = &plan->lines[i].op;

		if (is_limit(op))
			r = koda_buf_addf(out, "%u:%" PRIu64 ":%" PRIu64 ",", op->flags, op->n1,
					  op->n2);
	}
	return r < 0 ? koda_fail_room(err, r, "the limits") : KODA_OK;
}

/* Reads only the command from the plan: limits, directory, program, arguments, environment. */
static int read_plan(const struct koda_plan *plan, struct koda_strv *argv, struct koda_strv *env,
		     struct koda_error *err)
{
	koda_auto_buf struct koda_buf limits = KODA_BUF_INIT(4096);
	const char *cwd = "/";
	int r = list_limits(plan, &limits, err);

	for (size_t i = 0; i < plan->count; i++) {
		if (plan->lines[i].op.kind == KODA_OP_TERMINAL)
			return koda_fail(err, KODA_E_INVALID, 0, "no terminal without a sandbox");
		if (plan->lines[i].op.kind == KODA_OP_CWD)
			cwd = plan->lines[i].op.text1.ptr;
	}
	if (r == KODA_OK)
		r = koda_strv_add(argv, HELPER, err);
	if (r == KODA_OK)
		r = koda_strv_add(argv, limits.ptr ? limits.ptr : "", err);
	if (r == KODA_OK)
		r = koda_strv_add(argv, cwd, err);
	for (size_t i = 0; i < plan->count && r == KODA_OK; i++) {
		const struct koda_op *op = &plan->lines[i].op;

		if (op->kind == KODA_OP_ARG)
			r = koda_strv_add(argv, op->text1.ptr, err);
		else if (op->kind == KODA_OP_ENV)
			r = koda_strv_add(env, op->text1.ptr, err);
	}
	return r;
}

/* Starts the helper, which gets the command as arguments, so there is no prepare. */
static int launch(struct koda_launcher *launcher, const struct koda_plan *plan,
		  struct koda_error *err)
{
	char *const nothing[] = { NULL };
	koda_auto_strv struct koda_strv argv = KODA_STRV_INIT;
	koda_auto_strv struct koda_strv env = KODA_STRV_INIT;
	const struct koda_channels *channels = &launcher->channels;
	const struct koda_fdmap give[] = {
		{ channels->stream[0][1], 0 },
		{ channels->stream[1][1], 1 },
		{ channels->stream[2][1], 2 },
		{ channels->status[1], KODA_STAGE2_STATUS_FD },
		{ channels->life[1], KODA_STAGE2_LIFE_FD },
	};
	int r = read_plan(plan, &argv, &env, err);

	if (r == KODA_OK)
		r = koda_launcher_spawn(launcher, KODA_HELPER_DIR "/" HELPER, argv.items,
					env.items ? env.items : nothing, give, KODA_ARRAY_LEN(give),
					err);
	koda_channels_close_theirs(&launcher->channels);
	return r;
}

const struct koda_backend koda_backend_none = {
	.name = "none",
	.judge = judge,
	.launch = launch,
};
