/* SPDX-License-Identifier: MIT */
/* T-76. TLS termination of a tenant: its CA, and the CAs that the proxy trusts. */
#include "tenant.h"

#include "base/error.h"
#include "base/fd.h"
#include "tls/ca.h"
#include "tls/intercept.h"
#include "tls/tls_client.h"
#include "tls/tls_server.h"

/* Prepares the process for its first policy with "mitm"; before that OpenSSL is not initialised. */
static int start_client(struct egress_proxy *proxy, struct koda_error *err)
{
	int r = egress_tls_setup(err);

	if (r < 0 || proxy->tls)
		return r;
	if (proxy->trust < 0)
		return koda_fail(err, KODA_E_UNSUPPORTED, 0,
				 "no server can be verified: the system has no readable file of "
				 "trusted authorities");
	return egress_tls_client_new(proxy->trust, &proxy->tls, err);
}

static int start_server(struct egress_tenant *tenant, const struct egress_tenant_spec *spec,
			struct koda_error *err)
{
	struct egress_ca *ca = NULL;
	int r = start_client(tenant->proxy, err);

	if (r == KODA_OK)
		r = egress_ca_read(spec->ca, spec->ca_key, time(NULL), &ca, err);
	return r == KODA_OK ? egress_tls_server_new(ca, &tenant->tls, err) : r;
}

int egress_tenant_set_tls(struct egress_tenant *tenant, const struct koda_policy *policy,
			  struct koda_span except, const struct egress_tenant_spec *spec,
			  struct koda_error *err)
{
	bool named = koda_policy_ca_bundle(policy).ptr != NULL;
	bool wanted = named && !tenant->tls_passthrough;
	int r;

	/* The host sets this flag only for a policy with a CA bundle. */
	if (tenant->tls_passthrough && !named)
		return koda_fail(err, KODA_E_INVALID, 0, "the policy has no CA bundle");
	if (wanted != (spec->ca >= 0))
		return koda_fail(err, KODA_E_INVALID, 0,
				 wanted ? "the policy terminates TLS, but there is no CA"
					: "there is a CA, but the policy does not terminate TLS");
	r = egress_intercept_new(policy, wanted, except, &tenant->intercept, err);
	return r == KODA_OK && wanted ? start_server(tenant, spec, err) : r;
}

int egress_tenant_change_tls(struct egress_tenant *tenant, const struct koda_policy *policy,
			     struct koda_span except, struct koda_error *err)
{
	struct egress_intercept *intercept = NULL;
	int r;

	/* The CA came with ADD. New rules can neither add nor remove it. */
	if ((koda_policy_ca_bundle(policy).ptr != NULL) != (tenant->tls || tenant->tls_passthrough))
		return koda_fail(err, KODA_E_INVALID, 0,
				 "TLS termination cannot be switched on or off by new rules");
	r = egress_intercept_new(policy, tenant->tls != NULL, except, &intercept, err);
	if (r < 0)
		return r;
	egress_intercept_free(tenant->intercept);
	tenant->intercept = intercept;
	return KODA_OK;
}

void egress_tenant_clear_tls(struct egress_tenant *tenant)
{
	egress_tls_server_free(KODA_TAKE(tenant->tls));
	egress_intercept_free(KODA_TAKE(tenant->intercept));
}
