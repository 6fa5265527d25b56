/* SPDX-License-Identifier: MIT */
/* T-76. What a sandbox needs so that its TLS can be terminated: the authority, and who is trusted.
 */
#include "tenant.h"

#include "base/diag.h"
#include "base/fd.h"
#include "ca.h"
#include "intercept.h"
#include "tls_client.h"
#include "tls_server.h"

/* The first policy with "mitm" makes the process ready for it; others pay nothing. */
static int start_client(struct koda_proxy *proxy, struct koda_error *err)
{
	int r = koda_tls_setup(err);

	if (r < 0 || proxy->tls)
		return r;
	if (proxy->trust < 0)
		return koda_fail(err, KODA_E_UNSUPPORTED, 0,
				 "no server can be verified: the system has no readable file of "
				 "trusted authorities");
	return koda_tls_client_new(proxy->trust, &proxy->tls, err);
}

static int start_server(struct koda_tenant *tenant, const struct koda_tenant_order *order,
			struct koda_error *err)
{
	struct koda_ca *ca = NULL;
	int r = start_client(tenant->proxy, err);

	if (r == KODA_OK)
		r = koda_ca_read(order->ca, order->ca_key, time(NULL), &ca, err);
	return r == KODA_OK ? koda_tls_server_new(ca, &tenant->tls, err) : r;
}

int koda_tenant_set_tls(struct koda_tenant *tenant, const struct koda_policy *policy,
			struct koda_span except, const struct koda_tenant_order *order,
			struct koda_error *err)
{
	bool wanted = koda_policy_ca_bundle(policy).ptr != NULL;
	int r;

	if (wanted != (order->ca >= 0))
		return koda_fail(err, KODA_E_INVALID, 0,
				 wanted ? "the policy terminates TLS, but there is no CA"
					: "there is a CA, but the policy does not terminate TLS");
	r = koda_intercept_new(policy, except, &tenant->intercept, err);
	return r == KODA_OK && wanted ? start_server(tenant, order, err) : r;
}

int koda_tenant_change_tls(struct koda_tenant *tenant, const struct koda_policy *policy,
			   struct koda_span except, struct koda_error *err)
{
	struct koda_intercept *intercept = NULL;
	int r;

	/* The authority came with the sandbox; rules alone cannot bring or take it. */
	if ((koda_policy_ca_bundle(policy).ptr != NULL) != (tenant->tls != NULL))
		return koda_fail(err, KODA_E_INVALID, 0,
				 "TLS termination cannot be switched on or off by new rules");
	r = koda_intercept_new(policy, except, &intercept, err);
	if (r < 0)
		return r;
	koda_intercept_free(tenant->intercept);
	tenant->intercept = intercept;
	return KODA_OK;
}

void koda_tenant_clear_tls(struct koda_tenant *tenant)
{
	koda_tls_server_free(KODA_TAKE(tenant->tls));
	koda_intercept_free(KODA_TAKE(tenant->intercept));
}
