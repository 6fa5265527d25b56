/* SPDX-License-Identifier: MIT */
#include "koda_test.h"

#include "tls/mint.h"

#include "../lib/certs.h"

#define ROOM ((size_t)64 << 10)
#define DAY  ((time_t)86400)

static struct koda_host host_of(const char *text)
{
	struct koda_host host;
	struct koda_error err = { 0 };

	KODA_ASSERT_OK(koda_host_parse(koda_span_of(text), &host, &err), err);
	return host;
}

static struct egress_ca *make_ca(const struct cert_spec *spec)
{
	koda_auto_buf struct koda_buf text = KODA_BUF_INIT(ROOM);
	EVP_PKEY *key = EVP_EC_gen("P-384");
	X509 *cert = certs_make(spec, key, NULL, NULL);
	struct koda_error err = { 0 };
	struct egress_ca *ca = NULL;

	certs_add_pem(cert, &text);
	certs_add_key_pem(key, NULL, &text);
	KODA_ASSERT_OK(egress_ca_parse(koda_buf_span(&text), (struct koda_span){ NULL, 0 },
				       time(NULL), &ca, &err),
		       err);
	X509_free(cert);
	EVP_PKEY_free(key);
	return ca;
}

static struct egress_mint *make_mint(const struct cert_spec *spec)
{
	struct koda_error err = { 0 };
	struct egress_mint *mint = NULL;

	KODA_ASSERT_OK(egress_mint_new(make_ca(spec), &mint, &err), err);
	return mint;
}

static X509 *leaf_for(struct egress_mint *mint, const char *name, time_t now)
{
	struct koda_host host = host_of(name);
	struct koda_error err = { 0 };
	X509 *leaf = NULL;

	KODA_ASSERT_OK(egress_mint_leaf(mint, &host, now, &leaf, &err), err);
	return leaf;
}

/* What a strict client thinks of the leaf when it wanted to reach name. */
static int verify(X509 *leaf, X509 *root, const char *name)
{
	struct koda_host host = host_of(name);
	X509_STORE *store = X509_STORE_new();
	X509_STORE_CTX *ctx = X509_STORE_CTX_new();
	X509_VERIFY_PARAM *param;
	int result;

	assert_true(X509_STORE_add_cert(store, root) == 1);
	assert_true(X509_STORE_CTX_init(ctx, store, leaf, NULL) == 1);
	assert_true(X509_STORE_CTX_set_default(ctx, "ssl_server") == 1);
	param = X509_STORE_CTX_get0_param(ctx);
	assert_true(X509_VERIFY_PARAM_set_flags(param, X509_V_FLAG_X509_STRICT) == 1);
	if (host.is_addr)
		assert_true(X509_VERIFY_PARAM_set1_ip(param, host.addr.bytes,
						      koda_addr_bits(&host.addr) / 8) == 1);
	else
		assert_true(X509_VERIFY_PARAM_set1_host(param, host.name, 0) == 1);
	result = X509_verify_cert(ctx) == 1 ? X509_V_OK : X509_STORE_CTX_get_error(ctx);
	X509_STORE_CTX_free(ctx);
	X509_STORE_free(store);
	return result;
}

static void is_good_for_its_name_only(void **state)
{
	static const struct {
		const char *name;
		const char *asked;
		int want;
	} rows[] = {
		{ "api.example.org", "api.example.org", X509_V_OK },
		{ "api.example.org", "example.org", X509_V_ERR_HOSTNAME_MISMATCH },
		{ "api.example.org", "b.api.example.org", X509_V_ERR_HOSTNAME_MISMATCH },
		{ "192.0.2.7", "192.0.2.7", X509_V_OK },
		{ "192.0.2.7", "192.0.2.8", X509_V_ERR_IP_ADDRESS_MISMATCH },
		{ "2001:db8::1", "2001:db8::1", X509_V_OK },
		{ "2001:db8::1", "2001:db8::2", X509_V_ERR_IP_ADDRESS_MISMATCH },
		{ "192.0.2.7", "api.example.org", X509_V_ERR_HOSTNAME_MISMATCH },
		/* Too long for a common name: only the alternative name is there. */
		{ "a-label-of-more-than-sixty-characters-which-is-still-fine-x1.example.org",
		  "a-label-of-more-than-sixty-characters-which-is-still-fine-x1.example.org",
		  X509_V_OK },
	};
	const struct cert_spec spec = { 0 };
	struct egress_mint *mint = make_mint(&spec);
	const struct egress_ca *ca = egress_mint_ca(mint);

	(void)state;
	KODA_EACH(row, rows) {
		X509 *leaf = leaf_for(mint, row->name, time(NULL));
		int got = verify(leaf, ca->cert, row->asked);

		if (got != row->want)
			fail_msg("%s for %s: %s", row->name, row->asked,
				 X509_verify_cert_error_string(got));
		assert_int_equal(X509_check_private_key(leaf, egress_mint_key(mint)), 1);
	}
	egress_mint_free(mint);
}

static void another_authority_does_not_help(void **state)
{
	const struct cert_spec spec = { 0 };
	struct egress_mint *mint = make_mint(&spec);
	struct egress_ca *other = make_ca(&spec);

	(void)state;
	assert_int_not_equal(
		verify(leaf_for(mint, "a.example", time(NULL)), other->cert, "a.example"),
		X509_V_OK);
	egress_ca_free(other);
	egress_mint_free(mint);
}

static void keeps_and_renews(void **state)
{
	const struct cert_spec spec = { 0 };
	struct egress_mint *mint = make_mint(&spec);
	time_t now = time(NULL);
	X509 *first = leaf_for(mint, "a.example", now);
	ASN1_INTEGER *serial = ASN1_INTEGER_dup(X509_get_serialNumber(first));

	(void)state;
	assert_ptr_equal(leaf_for(mint, "a.example", now + 60), first);
	assert_ptr_not_equal(leaf_for(mint, "b.example", now), first);
	assert_ptr_equal(leaf_for(mint, "a.example", now + DAY), first);
	first = leaf_for(mint, "a.example", now + DAY + 1);
	assert_int_not_equal(ASN1_INTEGER_cmp(X509_get_serialNumber(first), serial), 0);
	/* A clock that was set back far gets a leaf that is valid then. */
	first = leaf_for(mint, "a.example", now - 5 * DAY);
	assert_true(X509_cmp_time(X509_get0_notBefore(first), &(time_t){ now - 5 * DAY }) < 0);
	assert_true(X509_cmp_time(X509_get0_notAfter(first), &(time_t){ now - 5 * DAY }) > 0);
	ASN1_INTEGER_free(serial);
	egress_mint_free(mint);
}

static void forgets_the_oldest(void **state)
{
	const struct cert_spec spec = { 0 };
	struct egress_mint *mint = make_mint(&spec);
	time_t now = time(NULL);
	ASN1_INTEGER *kept, *lost;
	char name[32];

	(void)state;
	lost = ASN1_INTEGER_dup(X509_get_serialNumber(leaf_for(mint, "lost.example", now)));
	kept = ASN1_INTEGER_dup(X509_get_serialNumber(leaf_for(mint, "kept.example", now)));
	for (int i = 0; i < EGRESS_MINT_NAMES - 1; i++) {
		(void)snprintf(name, sizeof(name), "n%d.example", i);
		(void)leaf_for(mint, name, now);
		assert_int_equal(
			ASN1_INTEGER_cmp(X509_get_serialNumber(leaf_for(mint, "kept.example", now)),
					 kept),
			0);
	}
	assert_int_not_equal(
		ASN1_INTEGER_cmp(X509_get_serialNumber(leaf_for(mint, "lost.example", now)), lost),
		0);
	ASN1_INTEGER_free(kept);
	ASN1_INTEGER_free(lost);
	egress_mint_free(mint);
}

static void stays_within_the_authority(void **state)
{
	const struct cert_spec spec = { .from_days = -1, .until_days = 1 };
	struct egress_mint *mint = make_mint(&spec);
	const struct egress_ca *ca = egress_mint_ca(mint);
	struct koda_host host = host_of("a.example");
	struct koda_error err = { 0 };
	X509 *leaf = leaf_for(mint, "a.example", time(NULL));

	(void)state;
	assert_int_equal(ASN1_TIME_compare(X509_get0_notAfter(leaf), X509_get0_notAfter(ca->cert)),
			 0);
	assert_true(ASN1_TIME_compare(X509_get0_notBefore(leaf), X509_get0_notBefore(ca->cert)) >=
		    0);
	KODA_ASSERT_FAILS(KODA_E_DENIED,
			  egress_mint_leaf(mint, &host, time(NULL) + 2 * DAY, &leaf, &err), err);
	egress_mint_free(mint);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(is_good_for_its_name_only),
		cmocka_unit_test(another_authority_does_not_help),
		cmocka_unit_test(keeps_and_renews),
		cmocka_unit_test(forgets_the_oldest),
		cmocka_unit_test(stays_within_the_authority),
	};

	return KODA_TEST_RUN(tests);
}
