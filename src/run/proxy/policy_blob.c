/* SPDX-License-Identifier: MIT */
#include "run/proxy/policy_blob.h"

#include "base/error.h"
#include "base/fd.h"
#include "base/strv.h"
#include "policy/hostrule.h"
#include "policy/policy.h"

#include <string.h>

int koda_policy_blob_check(const struct koda_strv *patterns, struct koda_error *err)
{
	int r = KODA_OK;

	for (size_t i = 0; i < patterns->len && r == KODA_OK; i++) {
		struct koda_hostrule rule;

		r = koda_hostrule_parse(koda_span_of(patterns->items[i]), &rule, err);
	}
	return r;
}

bool koda_policy_blob_is_short(const struct koda_policy_blob *blob)
{
	/* JSON needs at most six bytes for one, and quotes, indent and comma for each entry. The
	 * rest of a policy fits in the initial 4096. */
	const size_t per_entry = 16;
	size_t bytes = 4096;

	if (blob->policy->ca_bundle)
		return false;
	for (size_t i = 0; i < KODA_LIST_COUNT; i++)
		bytes += 6 * blob->policy->lists[i].text.len +
			 per_entry * blob->policy->lists[i].count;
	for (size_t i = 0; blob->tls_passthrough && i < blob->tls_passthrough->len; i++)
		bytes += strlen(blob->tls_passthrough->items[i]) + 1;
	return bytes <= KODA_POLICY_TEXT_MAX;
}

int koda_policy_blob_seal(const struct koda_policy_blob *blob, int *ret_fd, struct koda_error *err)
{
	koda_auto_buf struct koda_buf text = KODA_BUF_INIT(KODA_POLICY_TEXT_MAX);
	koda_auto_free char *policy = NULL;
	int r = koda_policy_emit(blob->policy, &policy, err);

	if (r < 0)
		return r;
	r = koda_buf_add(&text, policy, strlen(policy));
	for (size_t i = 0; blob->tls_passthrough && i < blob->tls_passthrough->len && r == KODA_OK;
	     i++) {
		r = koda_buf_add(&text, "", 1);
		if (r == KODA_OK)
			r = koda_buf_add(&text, blob->tls_passthrough->items[i],
					 strlen(blob->tls_passthrough->items[i]));
	}
	if (r < 0)
		return koda_fail(err, r, 0, "the policy is too large for the proxy");
	return koda_fd_sealed("koda-policy", text.ptr, text.len, ret_fd, err);
}
