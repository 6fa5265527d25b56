/* SPDX-License-Identifier: MIT */
/* What a listener is served by, as one sealed file. */
#include "base/diag.h"
#include "base/fd.h"
#include "policy/hostrule.h"
#include "policy/policy.h"
#include "run/egress.h"

#include <string.h>

int koda_terms_check(const struct koda_strv *except, struct koda_error *err)
{
	int r = KODA_OK;

	for (size_t i = 0; i < except->len && r == KODA_OK; i++) {
		struct koda_hostrule rule;

		r = koda_hostrule_parse(koda_span_of(except->items[i]), &rule, err);
	}
	return r;
}

bool koda_terms_are_short(const struct koda_terms *terms)
{
	/* A byte becomes six at most, an entry has quotes, indent and a comma, and there is what
	 * every policy has. */
	const size_t per_entry = 16;
	size_t bytes = 4096;

	if (terms->policy->ca_bundle)
		return false;
	for (size_t i = 0; i < KODA_LIST_COUNT; i++)
		bytes += 6 * terms->policy->lists[i].text.len +
			 per_entry * terms->policy->lists[i].count;
	for (size_t i = 0; terms->except && i < terms->except->len; i++)
		bytes += strlen(terms->except->items[i]) + 1;
	return bytes <= KODA_POLICY_TEXT_MAX;
}

int koda_terms_seal(const struct koda_terms *terms, int *ret_fd, struct koda_error *err)
{
	koda_auto_buf struct koda_buf text = KODA_BUF_INIT(KODA_POLICY_TEXT_MAX);
	koda_auto_free char *policy = NULL;
	int r = koda_policy_emit(terms->policy, &policy, err);

	if (r < 0)
		return r;
	r = koda_buf_add(&text, policy, strlen(policy));
	for (size_t i = 0; terms->except && i < terms->except->len && r == KODA_OK; i++) {
		r = koda_buf_add(&text, "", 1);
		if (r == KODA_OK)
			r = koda_buf_add(&text, terms->except->items[i],
					 strlen(terms->except->items[i]));
	}
	if (r < 0)
		return koda_fail(err, r, 0, "the policy is too large for the proxy");
	return koda_fd_sealed("koda-policy", text.ptr, text.len, ret_fd, err);
}
