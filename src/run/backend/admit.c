/* SPDX-License-Identifier: MIT */
/* T-48. */
#include "run/backend/admit.h"

#include "base/buf.h"
#include "base/error.h"
#include "base/path.h"
#include "plan/plan.h"
#include "policy/policy.h"

#include <stdio.h>

/* Bytes of a link's path in a message, which must leave room for the reasons of other backends. */
#define LINK_SHOWN 40

_Static_assert(KODA_CLAUSE_COUNT <= 32, "koda_clauses has a bit for each");

void koda_admit_relax(const struct koda_policy *policy, struct koda_findings *findings)
{
	if (koda_policy_flag(policy, KODA_FLAG_ALLOW_LOCAL_BINDING))
		findings->clause[KODA_CLAUSE_LOCAL_BINDING] =
			(struct koda_finding){ KODA_ENFORCEMENT_ENFORCED, "", "" };
	/* A command that cannot write cannot create names. */
	if (policy->lists[KODA_LIST_ALLOW_WRITE].count == 0)
		findings->clause[KODA_CLAUSE_MISSING_NAMES] =
			(struct koda_finding){ KODA_ENFORCEMENT_ENFORCED, "", "" };
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
			findings->clause[i] =
				(struct koda_finding){ KODA_ENFORCEMENT_ENFORCED, "", "" };
}

/* Returns the containment clauses that are neither enforced nor accepted. */
static koda_clauses find_missing(const struct koda_findings *findings, koda_clauses accepted)
{
	koda_clauses missing = 0;

	for (int i = 0; i < KODA_CLAUSE_COUNT; i++)
		if (koda_clause_contains((enum koda_clause)i) &&
		    findings->clause[i].enforcement != KODA_ENFORCEMENT_ENFORCED &&
		    !(accepted & KODA_CLAUSE_BIT(i)))
			missing |= KODA_CLAUSE_BIT(i);
	return missing;
}

/* Appends the names of the clauses, each with a prefix. */
static int add_names(struct koda_buf *out, koda_clauses clauses, const char *before)
{
	int r = KODA_OK;

	for (int i = 0; i < KODA_CLAUSE_COUNT && r == KODA_OK; i++)
		if (clauses & KODA_CLAUSE_BIT(i))
			r = koda_buf_addf(out, "%s%s", before,
					  koda_clause_name((enum koda_clause)i));
	return r < 0 ? r : koda_buf_add(out, "", 1);
}

/* Writes all that has to be decided into one line; doctor shows the reason of each clause. If the
 * line does not fit, the reason of the first clause is left out before the list. */
static int refuse(enum koda_trust trust, const struct koda_findings *findings, koda_clauses missing,
		  struct koda_error *err)
{
	koda_auto_buf struct koda_buf names = KODA_BUF_INIT(4096);
	const enum koda_clause first = (enum koda_clause)__builtin_ctz(missing);
	const struct koda_finding *finding = &findings->clause[first];
	const char *field = koda_clause_name(first);
	const bool is_auto = trust == KODA_TRUST_AUTO;
	const size_t room = sizeof(err->message);
	size_t whole = strlen(finding->reason) + 2 + strlen(finding->remedy);
	int r;

	if (is_auto)
		missing &= ~KODA_CLAUSE_BIT(first);
	r = add_names(&names, missing, is_auto ? " " : " --accept ");
	if (r < 0)
		return koda_fail_room(err, r, "the list of clauses");
	if (is_auto && missing && whole + strlen("; not held either:") + names.len <= room)
		return koda_fail_at(err, KODA_E_UNSUPPORTED, 0, field, "%s; %s; not held either:%s",
				    finding->reason, finding->remedy, names.ptr);
	if (is_auto)
		return koda_fail_at(err, KODA_E_UNSUPPORTED, 0, field, "%s; %s", finding->reason,
				    finding->remedy);
	if (whole + strlen(", or run with") + names.len <= room)
		return koda_fail_at(err, KODA_E_UNSUPPORTED, 0, field, "%s; %s, or run with%s",
				    finding->reason, finding->remedy, names.ptr);
	if (strlen("see koda-sandbox doctor, or run with") + names.len <= room)
		return koda_fail_at(err, KODA_E_UNSUPPORTED, 0, field,
				    "see koda-sandbox doctor, or run with%s", names.ptr);
	return koda_fail_at(err, KODA_E_UNSUPPORTED, 0, field,
			    "too much is missing to be listed here; see koda-sandbox doctor");
}

void koda_admit_name_link(const struct koda_plan *plan, const char *root, struct koda_error *err)
{
	struct koda_span link = { NULL, 0 };
	size_t below = strlen(root) + 1;
	size_t count = 0;
	char more[48] = "";

	for (size_t i = 0; i < plan->count; i++)
		if (plan->lines[i].op.kind == KODA_OP_PIN && count++ == 0)
			link = plan->lines[i].op.text1;
	if (!err || count == 0 || strcmp(err->field, koda_clause_name(KODA_CLAUSE_LINK_NAMES)) != 0)
		return;
	if (count > 1)
		(void)snprintf(more, sizeof(more), " (and %zu more)", count - 1);
	if (koda_path_covers(koda_span_of(root), link) && link.len > below)
		link = koda_span_skip(link, below);
	/* Of a long path the end is shown. */
	koda_error_prefix(err, "%s%.*s%s: ", link.len > LINK_SHOWN ? "..." : "",
			  (int)(link.len > LINK_SHOWN ? LINK_SHOWN : link.len),
			  link.ptr + (link.len > LINK_SHOWN ? link.len - LINK_SHOWN : 0), more);
}

int koda_admit(enum koda_trust trust, const struct koda_findings *findings, koda_clauses accepted,
	       struct koda_error *err)
{
	koda_clauses missing = find_missing(findings, accepted);

	if (trust == KODA_TRUST_AUTO && accepted)
		return koda_fail(err, KODA_E_INVALID, 0,
				 "trust mode auto accepts no clause that is not enforced");
	return missing ? refuse(trust, findings, missing, err) : KODA_OK;
}
