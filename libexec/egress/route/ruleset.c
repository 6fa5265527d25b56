/* SPDX-License-Identifier: MIT */
#include "route/ruleset.h"

#include <stdlib.h>

struct egress_ruleset *egress_ruleset_new(struct koda_rules *rules)
{
	struct egress_ruleset *set = malloc(sizeof(*set));

	if (!set) {
		koda_rules_free(rules);
		return NULL;
	}
	*set = (struct egress_ruleset){ .refs = 1, .rules = rules };
	return set;
}

struct egress_ruleset *egress_ruleset_ref(struct egress_ruleset *set)
{
	set->refs++;
	return set;
}

void egress_ruleset_unref(struct egress_ruleset *set)
{
	if (!set || --set->refs > 0)
		return;
	koda_rules_free(set->rules);
	free(set);
}
