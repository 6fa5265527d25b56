/* SPDX-License-Identifier: MIT */
/* What the planner needs of a rule set beyond the verdicts. */
#ifndef KODA_POLICY_RULES_H
#define KODA_POLICY_RULES_H

#include "base/set.h"

#include <koda/rules.h>

/* Another owner of the same rules; each of them frees. Safe from any thread. */
struct koda_rules *koda_rules_share(struct koda_rules *rules);

/* Every path that some rule or the floor names, in normal form. Borrowed. */
const struct koda_set *koda_rules_marked(const struct koda_rules *rules);

/* Does some rule or the floor name path or something below it? */
bool koda_rules_lead_to(const struct koda_rules *rules, struct koda_span path);

/* Does any rule re-open something hidden? */
bool koda_rules_have_holes(const struct koda_rules *rules);

/* koda_rules_read and koda_rules_write in one walk. */
void koda_rules_both(const struct koda_rules *rules, struct koda_span path,
		     struct koda_verdict *ret_read, struct koda_verdict *ret_write);

#endif
