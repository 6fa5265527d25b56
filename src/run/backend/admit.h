/* SPDX-License-Identifier: MIT */
/*
 * T-48. Decides whether a backend enforces enough to run a command. Trust mode auto needs every
 * containment clause that the policy asks for. In the other modes a person may accept missing
 * clauses by name.
 */
#ifndef KODA_RUN_BACKEND_ADMIT_H
#define KODA_RUN_BACKEND_ADMIT_H

#include "base/macros.h"

#include <koda/clause.h>
#include <koda/trust.h>

struct koda_plan;
struct koda_policy;

/* A set of clauses. */
typedef uint32_t koda_clauses;
#define KODA_CLAUSE_BIT(clause) ((koda_clauses)1 << (clause))

/* Marks clauses as enforced that the policy does not ask for. */
void koda_admit_relax(const struct koda_policy *policy, struct koda_findings *findings);

/* Returns the clauses that a plan does not depend on; marks them as enforced. */
koda_clauses koda_admit_unneeded(const struct koda_plan *plan);
void koda_admit_forgo(koda_clauses unneeded, struct koda_findings *findings);

/* Fails if a clause is neither enforced nor accepted: UNSUPPORTED, with the reason and remedy of
 * the first such clause and the names of the others. */
KODA_CHECK int koda_admit(enum koda_trust trust, const struct koda_findings *findings,
			  koda_clauses accepted, struct koda_error *err);

/* Adds the link to the message if koda_admit has failed for link_names; relative to root if it lies
 * there. */
void koda_admit_name_link(const struct koda_plan *plan, const char *root, struct koda_error *err);

#endif
