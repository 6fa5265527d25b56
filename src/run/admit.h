/* SPDX-License-Identifier: MIT */
/*
 * T-48. Whether a sandbox is good enough to run in. Auto needs every containment clause that the
 * policy asks for enforced; in the other modes a person may accept, by name, what is missing.
 */
#ifndef KODA_RUN_ADMIT_H
#define KODA_RUN_ADMIT_H

#include "base/macros.h"

#include <koda/clause.h>
#include <koda/trust.h>

struct koda_plan;
struct koda_policy;

/* A set of clauses. */
typedef uint32_t koda_clauses;
#define KODA_CLAUSE_BIT(clause) ((koda_clauses)1 << (clause))

/* What the policy does not ask for is fulfilled by leaving it alone. */
void koda_admit_relax(const struct koda_policy *policy, struct koda_findings *findings);

/* The same for what a plan has no need of. */
koda_clauses koda_admit_unneeded(const struct koda_plan *plan);
void koda_admit_forgo(koda_clauses unneeded, struct koda_findings *findings);

/* Fails: UNSUPPORTED, naming the first clause that is neither held nor accepted with its remedy,
 * and the others by name. */
KODA_CHECK int koda_admit(enum koda_trust trust, const struct koda_findings *findings,
			  koda_clauses accepted, struct koda_error *err);

#endif
