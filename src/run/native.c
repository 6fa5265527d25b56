/* SPDX-License-Identifier: MIT */
/* The native backend: our own launcher makes the namespaces and the view. */
#include "run/backend.h"

#include "base/diag.h"
#include "base/fd.h"
#include "wire/report.h"

#define LAUNCHER  "koda-sandbox-stage2"
#define GIVEN_MAX 8

static void judge(struct koda_findings *ret_findings)
{
	for (size_t i = 0; i < KODA_CLAUSE_COUNT; i++)
		ret_findings->of[i] = (struct koda_finding){ KODA_GRIP_ENFORCED, "", "" };
}

static int launch(const struct koda_plan *plan, const struct koda_launch *launch,
		  struct koda_proc *ret_proc, struct koda_error *err)
{
	static char name[] = LAUNCHER;
	char *const argv[] = { name, NULL };
	char *const envp[] = { NULL };
	struct koda_fdmap give[GIVEN_MAX];
	koda_auto_buf struct koda_buf bytes = KODA_BUF_INIT(KODA_OP_PLAN_MAX);
	koda_auto_fd int sealed = -1;
	int r = koda_plan_encode(plan, &bytes, err);

	if (r == KODA_OK)
		r = koda_fd_sealed("koda-plan", bytes.ptr, bytes.len, &sealed, err);
	if (r < 0)
		return r;
	if (launch->count + 1 > GIVEN_MAX)
		return koda_fail(err, KODA_E_INTERNAL, 0, "too many descriptors for the launcher");
	memcpy(give, launch->give, launch->count * sizeof(*give));
	give[launch->count] = (struct koda_fdmap){ sealed, KODA_STAGE2_PLAN_FD };
	return koda_proc_spawn(ret_proc, KODA_HELPER_DIR "/" LAUNCHER, argv, envp, give,
			       launch->count + 1, err);
}

const struct koda_backend koda_backend_native = { "native", judge, launch };
