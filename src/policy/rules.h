/* SPDX-License-Identifier: MIT */
/* What the planner needs of a rule set beyond the verdicts. */
#ifndef KODA_POLICY_RULES_H
#define KODA_POLICY_RULES_H

#include "base/set.h"

#include <koda/rules.h>

/* Every path that some rule or the floor names, in normal form. Borrowed. */
const struct koda_set *koda_rules_marked(const struct koda_rules *rules);

#endif
