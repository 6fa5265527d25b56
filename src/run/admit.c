/* SPDX-License-Identifier: MIT */
/* T-48. Whether a sandbox is good enough to run in. */
#include "run/admit.h"

#include "base/buf.h"
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

/* The clauses of containment that are neither held nor accepted. */
static koda_clauses find_missing(const struct koda_findings *findings, koda_clauses accepted)
{
	koda_clauses missing = 0;

	for (int i = 0; i < KODA_CLAUSE_COUNT; i++)
		if (koda_clause_contains((enum koda_clause)i) &&
		    findings->of[i].grip != KODA_GRIP_ENFORCED && !(accepted & KODA_CLAUSE_BIT(i)))
			missing |= KODA_CLAUSE_BIT(i);
	return missing;
}

/* Each clause of the set, with something before it. */
static int add_names(struct koda_buf *out, koda_clauses clauses, const char *before)
{
	int r = KODA_OK;

	for (int i = 0; i < KODA_CLAUSE_COUNT && r == KODA_OK; i++)
		if (clauses & KODA_CLAUSE_BIT(i))
			r = koda_buf_addf(out, "%s%s", before,
					  koda_clause_name((enum koda_clause)i));
	return r < 0 ? r : koda_buf_add(out, "", 1);
}

/* One line says all that has to be decided; doctor has the reasons of each. What does not fit whole
 * is left out, the first reason before the list. */
static int refuse(enum koda_trust trust, const struct koda_findings *findings, koda_clauses missing,
		  struct koda_error *err)
{
	koda_auto_buf struct koda_buf names = KODA_BUF_INIT(4096);
	const enum koda_clause first = (enum koda_clause)__builtin_ctz(missing);
	const struct koda_finding *finding = &findings->of[first];
	const char *field = koda_clause_name(first);
	const bool is_auto = trust == KODA_TRUST_AUTO;
	const size_t room = sizeof(err->message);
	size_t whole = strlen(finding->why) + 2 + strlen(finding->remedy);
	int r;

	if (is_auto)
		missing &= ~KODA_CLAUSE_BIT(first);
	r = add_names(&names, missing, is_auto ? " " : " --accept ");
	if (r < 0)
		return koda_fail_room(err, r, "the list of clauses");
	if (is_auto && missing && whole + strlen("; not held either:") + names.len <= room)
		return koda_fail_at(err, KODA_E_UNSUPPORTED, 0, field, "%s; %s; not held either:%s",
				    finding->why, finding->remedy, names.ptr);
	if (is_auto)
		return koda_fail_at(err, KODA_E_UNSUPPORTED, 0, field, "%s; %s", finding->why,
				    finding->remedy);
	if (whole + strlen(", or run with") + names.len <= room)
		return koda_fail_at(err, KODA_E_UNSUPPORTED, 0, field, "%s; %s, or run with%s",
				    finding->why, finding->remedy, names.ptr);
	if (strlen("see koda-sandbox doctor, or run with") + names.len <= room)
		return koda_fail_at(err, KODA_E_UNSUPPORTED, 0, field,
				    "see koda-sandbox doctor, or run with%s", names.ptr);
	return koda_fail_at(err, KODA_E_UNSUPPORTED, 0, field,
			    "too much is missing to be listed here; see koda-sandbox doctor");
}

int koda_admit(enum koda_trust trust, const struct koda_findings *findings, koda_clauses accepted,
	       struct koda_error *err)
{
	koda_clauses missing = find_missing(findings, accepted);

	if (trust == KODA_TRUST_AUTO && accepted)
		return koda_fail(err, KODA_E_INVALID, 0,
				 "trust mode auto accepts no clause that does not hold");
	return missing ? refuse(trust, findings, missing, err) : KODA_OK;
}
