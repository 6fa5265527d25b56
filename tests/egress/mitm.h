/* SPDX-License-Identifier: MIT */
/* A sandbox whose TLS the proxy ends, with an authority made for it. */
#ifndef KODA_TEST_EGRESS_MITM_H
#define KODA_TEST_EGRESS_MITM_H

#include "host.h"

#include "../lib/certs.h"
#include "base/fd.h"

/* ADD that must be followed; net is the policy's without "mitm", of which more is the rest. except
 * (NULL: none) is a host that is not terminated. */
static inline uint16_t add_mitm_with(struct host *host, uint32_t id, const char *net,
				     const char *more, const char *except)
{
	static const struct cert_spec spec = { .name = "Site CA" };
	struct koda_egress_message add = { .kind = KODA_EGRESS_ADD, .id = id };
	koda_auto_buf struct koda_buf text = KODA_BUF_INIT(65536);
	EVP_PKEY *key = EVP_EC_gen("P-256");
	X509 *ca = certs_make(&spec, key, NULL, NULL);
	struct koda_error err = { 0 };
	char policy[1024];
	uint16_t port;
	size_t len;
	int fds[3] = { listen_local(&port), -1, -1 };

	certs_add_pem(ca, &text);
	certs_add_key_pem(key, NULL, &text);
	len = (size_t)snprintf(policy, sizeof(policy),
			       "{\"net\":{%s,\"mitm\":{\"ca_bundle\":\"/ca.pem\"%s}}}", net, more);
	if (except)
		len += 1 +
		       (size_t)snprintf(policy + len + 1, sizeof(policy) - len - 1, "%s", except);
	KODA_ASSERT_OK(koda_fd_sealed("policy", policy, len, &fds[1], &err), err);
	KODA_ASSERT_OK(koda_fd_sealed("pem", text.ptr, text.len, &fds[2], &err), err);
	host_send(host, &add, fds, 3);
	(void)host_expect(host, KODA_EGRESS_ADDED);
	for (int i = 0; i < 3; i++)
		koda_fd_close(&fds[i]);
	X509_free(ca);
	EVP_PKEY_free(key);
	return port;
}

static inline uint16_t add_mitm(struct host *host, uint32_t id, const char *net)
{
	return add_mitm_with(host, id, net, "", NULL);
}

#endif
