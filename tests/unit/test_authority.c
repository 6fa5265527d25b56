/* SPDX-License-Identifier: MIT */
/* T-73 The files of the authority are hidden under every name, and what is shown has no key. */
#include "../lib/scratch.h"

#include "policy/policy.h"
#include "run/authority.h"

/* The smallest thing that has the shape of a certificate, and a key. */
#define CERTIFICATE "-----BEGIN CERTIFICATE-----\nMAYwADAAAwA=\n-----END CERTIFICATE-----\n"
#define KEY         "-----BEGIN PRIVATE KEY-----\nMAYwADAAAwA=\n-----END PRIVATE KEY-----\n"

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
	KODA_ASSERT_OK(koda_site_note_authority(&site, policy, &err), err);
	KODA_EACH(name, hidden)
		KODA_EXPECT(*name, koda_strv_has(&site.hidden, koda_in(*state, *name)));
	assert_false(koda_strv_has(&site.hidden, koda_in(*state, "real.key")));
	assert_false(site.shared);
}

static void a_second_name_is_noticed(void **state)
{
	koda_auto_policy struct koda_policy *policy = NULL;
	koda_auto_site struct koda_site site = KODA_SITE_INIT;
	struct koda_error err = { 0 };

	(void)koda_make_file(*state, "a.pem", CERTIFICATE);
	assert_int_equal(link(koda_make_file(*state, "a.key", KEY), koda_in(*state, "b")), 0);
	policy = policy_with(koda_in(*state, "a.pem"));
	KODA_ASSERT_OK(koda_site_note_authority(&site, policy, &err), err);
	assert_true(site.shared);
}

static void without_an_authority_nothing_is_hidden(void **state)
{
	koda_auto_policy struct koda_policy *policy = policy_with(NULL);
	koda_auto_site struct koda_site site = KODA_SITE_INIT;
	struct koda_error err = { 0 };

	(void)state;
	KODA_ASSERT_OK(koda_site_note_authority(&site, policy, &err), err);
	assert_int_equal(site.hidden.len, 0);
}

static void the_bundle_ends_with_the_certificates(void **state)
{
	koda_auto_policy struct koda_policy *policy = NULL;
	koda_auto_buf struct koda_buf out = KODA_BUF_INIT(KODA_AUTHORITY_MAX);
	struct koda_error err = { 0 };
	size_t len = strlen(CERTIFICATE);

	(void)koda_make_file(*state, "a.pem", KEY CERTIFICATE);
	policy = policy_with(koda_in(*state, "a.pem"));
	KODA_ASSERT_OK(koda_authority_bundle(policy, &out, &err), err);
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
		koda_auto_buf struct koda_buf out = KODA_BUF_INIT(KODA_AUTHORITY_MAX);
		struct koda_error err = { 0 };

		if (row->text)
			(void)koda_make_file(*state, row->name, row->text);
		KODA_ASSERT_FAILS(row->code, koda_authority_bundle(policy, &out, &err), err);
		KODA_EXPECT(row->name, strstr(err.message, "net.mitm") != NULL);
		KODA_EXPECT(row->name, err.field[0] == '/');
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
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
