/* SPDX-License-Identifier: MIT */
/* What the backends' judgements have in common: findings, and facts that count for all of them. */
#ifndef KODA_RUN_JUDGE_H
#define KODA_RUN_JUDGE_H

#include "run/machine.h"

#include <koda/clause.h>

/* Texts are static. */
struct koda_finding koda_refused(const char *why, const char *remedy);
struct koda_finding koda_emulated(const char *why, const char *remedy);
struct koda_finding koda_enforced(const char *why);

/* The same for every clause. */
void koda_judge_all(struct koda_findings *findings, struct koda_finding finding);

/* What keeps any sandbox from being made by this kernel; refused if something does. The first is
 * a part of the second. */
struct koda_finding koda_judge_calls(const struct koda_machine *machine);
struct koda_finding koda_judge_kernel(const struct koda_machine *machine);

/* What Landlock and the limits make of the clauses that are theirs. */
void koda_judge_layers(const struct koda_machine *machine, struct koda_findings *findings);
void koda_judge_limits(const struct koda_machine *machine, struct koda_findings *findings);

#endif
