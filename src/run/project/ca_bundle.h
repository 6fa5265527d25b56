/* SPDX-License-Identifier: MIT */
/*
 * T-73. The CA bundle of net.mitm as commands see it: its certificates are in the file that
 * programs trust, and its key is hidden. With a key the proxy terminates TLS. A bundle without a
 * key is that of a site whose own proxy terminates TLS; then ours passes TLS through.
 */
#ifndef KODA_RUN_PROJECT_CA_BUNDLE_H
#define KODA_RUN_PROJECT_CA_BUNDLE_H

#include "base/buf.h"
#include "run/project/site.h"

/* The largest file of certificates that a command gets. */
#define KODA_CA_BUNDLE_MAX ((size_t)4 << 20)

/* Adds the files of the policy's CA bundle to hidden of the site, by every path that leads to them;
 * does nothing without a bundle. Comes before hard links are searched for. Fails: SYS, LIMIT,
 * NOMEM. */
KODA_CHECK int koda_ca_bundle_note(struct koda_site *site, const struct koda_policy *policy,
				   struct koda_error *err);

/* Tells whether the policy has a bundle with certificates and without a key, in it or beside it. A
 * bundle that cannot be read counts as one with a key, so that TLS is not passed through by
 * mistake. */
bool koda_ca_bundle_is_passthrough(const struct koda_policy *policy);

/* Appends the certificates that programs in the sandbox trust: the system's and those of the
 * policy's bundle. Fails: SYS, POLICY (the bundle is not clean PEM), LIMIT, NOMEM. */
KODA_CHECK int koda_ca_bundle_make(const struct koda_policy *policy, struct koda_buf *out,
				   struct koda_error *err);

#endif
