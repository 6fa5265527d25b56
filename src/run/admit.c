/* SPDX-License-Identifier: MIT */
/* T-48. Whether a sandbox is good enough to run in. */
#include "run/admit.h"

#include "base/diag.h"
#include "plan/plan.h"
#include "policy/policy.h"

_Static_assert(KODA_CLAUSE_COUNT <= 32, "koda_clauses has a bit for each");

void koda_admit_relax(const struct koda_policy *policy, struct koda_findings *findings)
{
	if (koda_policy_flag(policy, KODA_FLAG_ALLOW_LOCAL_BINDING))
		findings->of[KODA_CLAUSE_LOCAL_BINDING] =
			(struct koda_finding){ KODA_GRIP_ENFORCED, "", "" };
	/* Where nothing can be written, nothing can be created either. */
	if (policy->lists[KODA_LIST_ALLOW_WRITE].count == 0)
		findings->of[KODA_CLAUSE_MISSING_NAMES] =
			(struct koda_finding){ KODA_GRIP_ENFORCED, "", "" };
}

koda_clauses koda_admit_unneeded(const struct koda_plan *plan)
{
	for (size_t i = 0; i < plan->count; i++)
		if (plan->lines[i].op.kind == KODA_OP_PIN)
			return 0;
	return KODA_CLAUSE_BIT(KODA_CLAUSE_LINK_NAMES);
}

void koda_admit_forgo(koda_clauses unneeded, struct koda_findings *findings)
{
	for (int i = 0; i < KODA_CLAUSE_COUNT; i++)
		if (unneeded & KODA_CLAUSE_BIT(i))
			findings->of[i] = (struct koda_finding){ KODA_GRIP_ENFORCED, "", "" };
}

int koda_admit(enum koda_trust trust, const struct koda_findings *findings, koda_clauses accepted,
	       struct koda_error *err)
{
	if (trust == KODA_TRUST_AUTO && accepted)
		return koda_fail(err, KODA_E_INVALID, 0,
				 "trust mode auto accepts no clause that does not hold");
	for (int i = 0; i < KODA_CLAUSE_COUNT; i++) {
		const struct koda_finding *finding = &findings->of[i];
		const char *name = koda_clause_name((enum koda_clause)i);

		if (!koda_clause_contains((enum koda_clause)i) ||
		    finding->grip == KODA_GRIP_ENFORCED || (accepted & KODA_CLAUSE_BIT(i)))
			continue;
		if (trust == KODA_TRUST_AUTO)
			return koda_fail_at(err, KODA_E_UNSUPPORTED, 0, name, "%s; %s",
					    finding->why, finding->remedy);
		return koda_fail_at(err, KODA_E_UNSUPPORTED, 0, name,
				    "%s; %s, or run with --accept %s", finding->why,
				    finding->remedy, name);
	}
	return KODA_OK;
}
