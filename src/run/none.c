/* SPDX-License-Identifier: MIT */
/*
 * T-48. No sandbox, because a person asked for none: a clean environment, a wall time and an output
 * limit are all that is left. A small helper stands where the launcher would be, so that nothing
 * above here differs, and so that the launcher itself has no way to leave the sandbox out.
 */
#include "run/backend.h"

#include "base/diag.h"
#include "base/str.h"
#include "wire/report.h"

#define HELPER "koda-sandbox-bare"

static bool judge(const struct koda_machine *machine, struct koda_findings *ret_findings)
{
	(void)machine;
	for (size_t i = 0; i < KODA_CLAUSE_COUNT; i++)
		ret_findings->of[i] =
			(struct koda_finding){ KODA_GRIP_REFUSED, "there is no sandbox",
					       "run without --no-sandbox" };
	ret_findings->of[KODA_CLAUSE_WALL_TIME] =
		(struct koda_finding){ KODA_GRIP_EMULATED,
				       "only the command's process group is ended",
				       "run without --no-sandbox" };
	ret_findings->of[KODA_CLAUSE_OUTPUT] = (struct koda_finding){ KODA_GRIP_ENFORCED, "", "" };
	return true;
}

/* The command's variables, but not the one that says that it is in a sandbox. */
static bool is_wanted(const struct koda_op *op)
{
	static const char inside[] = "KODA_SANDBOX=";

	return op->kind == KODA_OP_ENV && strncmp(op->text1.ptr, inside, sizeof(inside) - 1) != 0;
}

/* Of the whole plan only the command: directory, program and arguments, environment. */
static int read_plan(const struct koda_plan *plan, struct koda_strv *argv, struct koda_strv *env,
		     struct koda_error *err)
{
	const char *cwd = "/";
	int r = koda_strv_add(argv, HELPER, err);

	for (size_t i = 0; i < plan->count; i++) {
		if (plan->lines[i].op.kind == KODA_OP_TERMINAL)
			return koda_fail(err, KODA_E_INVALID, 0, "no terminal without a sandbox");
		if (plan->lines[i].op.kind == KODA_OP_CWD)
			cwd = plan->lines[i].op.text1.ptr;
	}
	if (r == KODA_OK)
		r = koda_strv_add(argv, cwd, err);
	for (size_t i = 0; i < plan->count && r == KODA_OK; i++) {
		const struct koda_op *op = &plan->lines[i].op;

		if (op->kind == KODA_OP_ARG)
			r = koda_strv_add(argv, op->text1.ptr, err);
		else if (is_wanted(op))
			r = koda_strv_add(env, op->text1.ptr, err);
	}
	return r;
}

/* All that there is to do needs the plan, so nothing is prepared. */
static int launch(struct koda_launcher *launcher, const struct koda_plan *plan,
		  struct koda_error *err)
{
	char *const nothing[] = { NULL };
	koda_auto_strv struct koda_strv argv = KODA_STRV_INIT;
	koda_auto_strv struct koda_strv env = KODA_STRV_INIT;
	const struct koda_ends *ends = &launcher->ends;
	const struct koda_fdmap give[] = {
		{ ends->stream[0][1], 0 },
		{ ends->stream[1][1], 1 },
		{ ends->stream[2][1], 2 },
		{ ends->status[1], KODA_STAGE2_STATUS_FD },
		{ ends->life[1], KODA_STAGE2_LIFE_FD },
	};
	int r = read_plan(plan, &argv, &env, err);

	if (r == KODA_OK)
		r = koda_proc_spawn(&launcher->proc, KODA_HELPER_DIR "/" HELPER, argv.items,
				    env.items ? env.items : nothing, give, KODA_ARRAY_LEN(give),
				    err);
	koda_ends_close_theirs(&launcher->ends);
	return r;
}

const struct koda_backend koda_backend_none = { "none", judge, NULL, launch };
