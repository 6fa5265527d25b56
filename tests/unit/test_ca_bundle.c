/* SPDX-License-Identifier: MIT */
/* T-73 The files of the authority are hidden under every name, and what is shown has no key. */
#include "../lib/scratch.h"

#include "policy/policy.h"
#include "run/project/ca_bundle.h"

/* The smallest thing that has the shape of a certificate, and a key. */
#define CERTIFICATE "-----BEGIN CERTIFICATE-----\nMAYwADAAAwA=\n-----END CERTIFICATE-----\n"
#define KEY         "-----BEGIN PRIVATE KEY-----\nMAYwADAAAwA=\n-----END PRIVATE KEY-----\n"

/* Keys that other readers find. */
#define INDENTED  " -----BEGIN PRIVATE KEY-----\n MAYwADAAAwA=\n -----END PRIVATE KEY-----\n"
#define DISGUISED "-----BEGIN CERTIFICATE-----\nMAcCAQAwAAQA\n-----END CERTIFICATE-----\n"
#define OTHER     "-----BEGIN PARAMETERS-----\nMAYwADAAAwA=\n-----END PARAMETERS-----\n"

static struct koda_policy *policy_with(const char *bundle)
{
	struct koda_policy *policy = NULL;
	struct koda_error err = { 0 };

	KODA_ASSERT_OK(koda_policy_new(&policy, &err), err);
	if (bundle)
		KODA_ASSERT_OK(koda_policy_set_ca_bundle(policy, bundle, strlen(bundle), &err),
			       err);
	return policy;
}

static void every_name_is_hidden(void **state)
{
	static const char *const hidden[] = { "link.pem", "real.pem", "link.key", "other.key" };
	koda_auto_policy struct koda_policy *policy = NULL;
	koda_auto_site struct koda_site site = KODA_SITE_INIT;
	struct koda_error err = { 0 };

	(void)koda_make_file(*state, "real.pem", CERTIFICATE);
	(void)koda_make_link(*state, "link.pem", "real.pem");
	(void)koda_make_file(*state, "other.key", KEY);
	(void)koda_make_link(*state, "link.key", "other.key");
	policy = policy_with(koda_in(*state, "link.pem"));
	KODA_ASSERT_OK(koda_ca_bundle_note(&site, policy, &err), err);
	KODA_EACH(name, hidden)
		KODA_EXPECT(*name, koda_strv_has(&site.hidden, koda_in(*state, *name)));
	assert_false(koda_strv_has(&site.hidden, koda_in(*state, "real.key")));
	assert_false(site.has_hardlinks);
}

static void a_second_name_is_noticed(void **state)
{
	koda_auto_policy struct koda_policy *policy = NULL;
	koda_auto_site struct koda_site site = KODA_SITE_INIT;
	struct koda_error err = { 0 };

	(void)koda_make_file(*state, "a.pem", CERTIFICATE);
	assert_int_equal(link(koda_make_file(*state, "a.key", KEY), koda_in(*state, "b")), 0);
	policy = policy_with(koda_in(*state, "a.pem"));
	KODA_ASSERT_OK(koda_ca_bundle_note(&site, policy, &err), err);
	assert_true(site.has_hardlinks);
}

static void without_an_authority_nothing_is_hidden(void **state)
{
	koda_auto_policy struct koda_policy *policy = policy_with(NULL);
	koda_auto_site struct koda_site site = KODA_SITE_INIT;
	struct koda_error err = { 0 };

	(void)state;
	KODA_ASSERT_OK(koda_ca_bundle_note(&site, policy, &err), err);
	assert_int_equal(site.hidden.len, 0);
}

static void the_bundle_ends_with_the_certificates(void **state)
{
	koda_auto_policy struct koda_policy *policy = NULL;
	koda_auto_buf struct koda_buf out = KODA_BUF_INIT(KODA_CA_BUNDLE_MAX);
	struct koda_error err = { 0 };
	size_t len = strlen(CERTIFICATE);

	(void)koda_make_file(*state, "a.pem", KEY CERTIFICATE);
	policy = policy_with(koda_in(*state, "a.pem"));
	KODA_ASSERT_OK(koda_ca_bundle_make(policy, &out, &err), err);
	assert_true(out.len >= len);
	assert_memory_equal(out.ptr + out.len - len, CERTIFICATE, len);
	assert_null(memmem(out.ptr, out.len, "PRIVATE", 7));
}

static const struct {
	const char *name;
	const char *text; /* NULL: there is no file */
	enum koda_code code;
} bad[] = {
	{ "missing", NULL, KODA_E_SYS },
	{ "empty", "", KODA_E_LIMIT },
	{ "no PEM", "hello\n", KODA_E_POLICY },
	{ "only a key", KEY, KODA_E_POLICY },
	{ "cut off", "-----BEGIN CERTIFICATE-----\nMAYw", KODA_E_POLICY },
};

static void what_is_no_authority_is_an_error(void **state)
{
	KODA_EACH(row, bad) {
		const char *path = koda_in(*state, row->name);
		koda_auto_policy struct koda_policy *policy = policy_with(path);
		koda_auto_buf struct koda_buf out = KODA_BUF_INIT(KODA_CA_BUNDLE_MAX);
		struct koda_error err = { 0 };
		const char *text;

		if (row->text)
			(void)koda_make_file(*state, row->name, row->text);
		KODA_ASSERT_FAILS(row->code, koda_ca_bundle_make(policy, &out, &err), err);
		KODA_EXPECT(row->name, strstr(err.message, "net.mitm") != NULL);
		/* The reason is told once. */
		text = strstr(err.message, "No such file");
		KODA_EXPECT(row->name, !text || !strstr(text + 1, "No such file"));
		KODA_EXPECT(row->name, err.field[0] == '/');
	}
}

/* T-76. Certificates alone are for clients to trust; in doubt there is a key. */
static void without_a_key_tunnels_are_opaque(void **state)
{
	static const struct {
		const char *name;
		const char *text; /* NULL: there is no file */
		const char *key;  /* the name of one beside it, or NULL */
		bool opaque;
	} rows[] = {
		{ "certificate.pem", CERTIFICATE, NULL, true },
		{ "certificates.crt", "# explained\n" CERTIFICATE CERTIFICATE, NULL, true },
		{ "both.pem", CERTIFICATE KEY, NULL, false },
		{ "first.pem", KEY CERTIFICATE, NULL, false },
		{ "beside.pem", CERTIFICATE, "beside.key", false },
		{ "bare", CERTIFICATE, "bare.key", false },
		{ "missing.pem", NULL, NULL, false },
		{ "empty.pem", "", NULL, false },
		{ "odd.pem", "nonsense\n", NULL, false },
		{ "indented.pem", INDENTED CERTIFICATE, NULL, false },
		{ "behind.pem", CERTIFICATE INDENTED CERTIFICATE, NULL, false },
		{ "quoted.pem", "> -----BEGIN RSA PRIVATE KEY-----\n" CERTIFICATE, NULL, false },
		{ "comment.pem", CERTIFICATE "# -----BEGIN PRIVATE KEY-----\n", NULL, false },
		{ "disguised.pem", DISGUISED CERTIFICATE, NULL, false },
		{ "other.pem", CERTIFICATE OTHER, NULL, false },
		{ "cut.pem", CERTIFICATE "-----BEGIN PRIVATE KEY-----\nMAYw", NULL, false },
	};

	KODA_EACH(row, rows) {
		koda_auto_policy struct koda_policy *policy = NULL;
		koda_auto_site struct koda_site site = KODA_SITE_INIT;
		struct koda_error err = { 0 };
		const char *path = koda_in(*state, row->name);

		if (row->text)
			(void)koda_make_file(*state, row->name, row->text);
		if (row->key)
			(void)koda_make_link(*state, row->key, "nowhere");
		policy = policy_with(path);
		KODA_EXPECT(row->name, koda_ca_bundle_is_passthrough(policy) == row->opaque);
		KODA_ASSERT_OK(koda_ca_bundle_note(&site, policy, &err), err);
		KODA_EXPECT(row->name, koda_strv_has(&site.readonly_aliases, path) == row->opaque);
		KODA_EXPECT(row->name, koda_strv_has(&site.hidden, path) == !row->opaque);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		KODA_SCRATCH_TEST(every_name_is_hidden),
		KODA_SCRATCH_TEST(a_second_name_is_noticed),
		KODA_SCRATCH_TEST(without_an_authority_nothing_is_hidden),
		KODA_SCRATCH_TEST(the_bundle_ends_with_the_certificates),
		KODA_SCRATCH_TEST(what_is_no_authority_is_an_error),
		KODA_SCRATCH_TEST(without_a_key_tunnels_are_opaque),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
