/* SPDX-License-Identifier: MIT */
/* The sections of a policy's text, for texts that have some of them. */
#ifndef KODA_POLICY_POLICY_PARSE_H
#define KODA_POLICY_POLICY_PARSE_H

#include "policy/json.h"

struct koda_policy;

enum koda_policy_section {
	KODA_POLICY_SECTION_FS,
	KODA_POLICY_SECTION_NET,
	KODA_POLICY_SECTION_LIMITS
};

/* Adds what the object states to the policy. Fails: POLICY, LIMIT, NOMEM. */
KODA_CHECK int koda_policy_read_section(struct koda_policy *policy,
					enum koda_policy_section section,
					const struct koda_json *value, struct koda_error *err);

#endif
