/* SPDX-License-Identifier: MIT */
/* Findings: how a clause is enforced, and why not. Shared by the judge functions of the backends.
 */
#ifndef KODA_RUN_BACKEND_FINDINGS_H
#define KODA_RUN_BACKEND_FINDINGS_H

#include "run/backend/machine.h"

#include <koda/clause.h>

/* Make a finding. Texts are borrowed and must be static. */
struct koda_finding koda_finding_refused(const char *why, const char *remedy);
struct koda_finding koda_finding_emulated(const char *why, const char *remedy);
struct koda_finding koda_finding_enforced(const char *why);

/* Sets every clause to the finding. */
void koda_findings_all(struct koda_findings *findings, struct koda_finding finding);

/* Refuse, with the reason, if no sandbox can be made on this kernel. koda_findings_calls looks at
 * the system calls alone and is a part of koda_findings_kernel. */
struct koda_finding koda_findings_calls(const struct koda_machine *machine);
struct koda_finding koda_findings_kernel(const struct koda_machine *machine);

/* Set the clauses that depend on Landlock, and those that depend on limits. */
void koda_findings_layers(const struct koda_machine *machine, struct koda_findings *findings);
void koda_findings_limits(const struct koda_machine *machine, struct koda_findings *findings);

#endif
