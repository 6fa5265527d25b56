/* SPDX-License-Identifier: MIT */
/* Rules for tests, made from the JSON text of a policy. */
#ifndef KODA_TEST_RULES_H
#define KODA_TEST_RULES_H

#include "koda_test.h"

#include <koda/policy.h>
#include <koda/rules.h>
#include <stdlib.h>
#include <string.h>

/* Makes rules from JSON. Quotes are written as ' to keep the tables readable. */
static inline struct koda_rules *koda_rules_of(const char *text, const struct koda_place *where)
{
	struct koda_policy *policy = NULL;
	struct koda_rules *rules = NULL;
	struct koda_error err = { 0 };
	char *json = strdup(text);

	assert_non_null(json);
	for (char *c = json; *c; c++)
		if (*c == '\'')
			*c = '"';
	KODA_ASSERT_OK(koda_policy_parse(json, strlen(json), &policy, &err), err);
	KODA_ASSERT_OK(koda_rules_new(policy, where, &rules, &err), err);
	koda_policy_free(policy);
	free(json);
	return rules;
}

#endif
