/* SPDX-License-Identifier: MIT */
/* What the planner needs of a rule set beyond the verdicts. */
#ifndef KODA_POLICY_RULES_H
#define KODA_POLICY_RULES_H

#include "base/texts.h"

#include <koda/rules.h>

/* Like koda_rules_new, for those who ask about paths only: long lists of hosts take their time, and
 * whoever connects has rules of its own. Every host is denied. */
KODA_CHECK int koda_rules_new_for_paths(const struct koda_policy *policy,
					const struct koda_place *place,
					struct koda_rules **ret_rules, struct koda_error *err);

/* Another owner of the same rules; each of them frees. Safe from any thread. */
struct koda_rules *koda_rules_share(struct koda_rules *rules);

/* Every path that some rule or the floor names, in normal form. Borrowed. */
const struct koda_texts *koda_rules_marked(const struct koda_rules *rules);

/* Which of those change nothing, see koda_access_idle. Fails: NOMEM. */
KODA_CHECK int koda_rules_idle(const struct koda_rules *rules, bool *ret_idle,
			       struct koda_error *err);

/* Does some rule or the floor name path or something below it? */
bool koda_rules_lead_to(const struct koda_rules *rules, struct koda_span path);

/* Does any rule re-open something hidden? */
bool koda_rules_have_holes(const struct koda_rules *rules);

/* koda_rules_read and koda_rules_write in one walk. */
void koda_rules_both(const struct koda_rules *rules, struct koda_span path,
		     struct koda_verdict *ret_read, struct koda_verdict *ret_write);

#endif
