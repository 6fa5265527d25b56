/* SPDX-License-Identifier: MIT */
/* Checks, before a command runs, that the proxy can terminate TLS with the CA of net.mitm. */
#ifndef KODA_RUN_PROXY_CA_BUNDLE_PROOF_H
#define KODA_RUN_PROXY_CA_BUNDLE_PROOF_H

#include "run/proxy/net_rules.h"

/* Fails if the proxy cannot use the key of the policy's CA bundle: it fits none of the
 * certificates, one has expired, and so on. Only the proxy can tell, so it is started and given the
 * bundle, once for each struct koda_net_rules. Does nothing for a policy without a CA bundle, or
 * whose bundle has no key. env is the host's. Fails: POLICY, CHILD (the proxy does not start), SYS,
 * NOMEM. */
KODA_CHECK int koda_ca_bundle_prove(struct koda_net_rules *net, const char *const *env,
				    struct koda_error *err);

#endif
