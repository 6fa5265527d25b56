/* SPDX-License-Identifier: MIT */
/* The network rules of a listener, as one sealed memory file that the proxy reads. */
#ifndef KODA_RUN_PROXY_POLICY_BLOB_H
#define KODA_RUN_PROXY_POLICY_BLOB_H

#include "base/macros.h"
#include "base/strv.h"

#include <koda/error.h>
#include <koda/policy.h>

struct koda_policy_blob {
	const struct koda_policy *policy;
	const struct koda_strv
		*tls_passthrough; /* hosts whose TLS is not terminated; may be NULL */
	bool all_passthrough;     /* no TLS is terminated: the policy's CA bundle has no key */
};

/* Checks patterns of hosts. Fails: POLICY. */
KODA_CHECK int koda_policy_blob_check(const struct koda_strv *patterns, struct koda_error *err);
/* Writes the blob into a sealed memory file. Fails: SYS, LIMIT, NOMEM. */
KODA_CHECK int koda_policy_blob_seal(const struct koda_policy_blob *blob, int *ret_fd,
				     struct koda_error *err);
/* Tells whether the blob is certainly within KODA_POLICY_TEXT_MAX, so that sealing it can wait. */
bool koda_policy_blob_is_short(const struct koda_policy_blob *blob);

#endif
