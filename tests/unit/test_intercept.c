/* SPDX-License-Identifier: MIT */
#include "koda_test.h"

#include "tls/intercept.h"

#include "policy/policy.h"

static struct egress_intercept *intercept_of(const char *text)
{
	struct koda_policy *policy = NULL;
	struct egress_intercept *intercept = NULL;
	struct koda_error err = { 0 };

	KODA_ASSERT_OK(koda_policy_parse(text, strlen(text), &policy, &err), err);
	KODA_ASSERT_OK(egress_intercept_new(policy, koda_policy_ca_bundle(policy).ptr != NULL,
					    (struct koda_span){ 0 }, &intercept, &err),
		       err);
	koda_policy_free(policy);
	return intercept;
}

static const char *way_of(const struct egress_intercept *intercept, const char *name, uint16_t port)
{
	struct koda_host host;
	struct koda_error err = { 0 };
	const char *path = NULL;

	KODA_ASSERT_OK(koda_host_parse(koda_span_of(name), &host, &err), err);
	switch (egress_intercept_host(intercept, &host, port, &path)) {
	case EGRESS_INTERCEPT_NOT:
		return "not";
	case EGRESS_INTERCEPT_TERMINATE:
		return "terminate";
	case EGRESS_INTERCEPT_SOCKET:
		return path;
	}
	return NULL;
}

/* Exceptions only take termination away; the map comes first. */
static void has_exceptions(void **state)
{
	static const char text[] = "{\"net\":{\"mitm\":{\"ca_bundle\":\"/ca.pem\",\"socket_map\":["
				   "[\"in.example.org\",\"/run/a\"]]}}}";
	static const char except[] = "\0*.example.org\0pinned.test:443\0"
				     "192.0.2.0/24";
	static const char wrong[] = "\0a.test\0not a host";
	struct koda_policy *policy = NULL;
	struct egress_intercept *intercept = NULL;
	struct koda_error err = { 0 };

	(void)state;
	KODA_ASSERT_OK(koda_policy_parse(text, strlen(text), &policy, &err), err);
	KODA_ASSERT_OK(egress_intercept_new(policy, koda_policy_ca_bundle(policy).ptr != NULL,
					    (struct koda_span){ except, sizeof(except) - 1 },
					    &intercept, &err),
		       err);
	assert_string_equal(way_of(intercept, "a.example.org", 443), "not");
	assert_string_equal(way_of(intercept, "in.example.org", 443), "/run/a");
	assert_string_equal(way_of(intercept, "example.org", 443), "terminate");
	assert_string_equal(way_of(intercept, "pinned.test", 443), "not");
	assert_string_equal(way_of(intercept, "pinned.test", 8443), "terminate");
	assert_string_equal(way_of(intercept, "192.0.2.7", 1), "not");
	egress_intercept_free(intercept);
	assert_int_equal(egress_intercept_new(policy, koda_policy_ca_bundle(policy).ptr != NULL,
					      (struct koda_span){ wrong, sizeof(wrong) - 1 },
					      &intercept, &err),
			 KODA_E_POLICY);
	koda_policy_free(policy);
}

static void follows_the_map(void **state)
{
	static const struct {
		const char *name;
		uint16_t port;
		const char *want;
	} rows[] = {
		{ "example.org", 443, "/run/a" },       { "www.example.org", 443, "/run/b" },
		{ "x.www.example.org", 443, "/run/b" }, { "in.example.org", 443, "/run/c" },
		{ "in.example.org", 8443, "/run/b" },   { "example.com", 443, "terminate" },
		{ "192.0.2.1", 443, "/run/d" },         { "192.0.3.1", 443, "terminate" },
	};
	struct egress_intercept *intercept = intercept_of(
		"{\"net\":{\"mitm\":{\"ca_bundle\":\"/ca.pem\",\"socket_map\":["
		"[\"example.org\",\"/run/a\"],[\"*.example.org\",\"/run/b\"],"
		"[\"in.example.org:443\",\"/run/c\"],[\"192.0.2.0/24\",\"/run/d\"]]}}}");

	(void)state;
	KODA_EACH(row, rows)
		assert_string_equal(way_of(intercept, row->name, row->port), row->want);
	egress_intercept_free(intercept);
}

static void without_mitm_nothing_is_touched(void **state)
{
	struct egress_intercept *intercept = intercept_of("{}");

	(void)state;
	assert_string_equal(way_of(intercept, "example.org", 443), "not");
	egress_intercept_free(intercept);
	intercept = intercept_of("{\"net\":{\"mitm\":{\"ca_bundle\":\"/ca.pem\"}}}");
	assert_string_equal(way_of(intercept, "example.org", 443), "terminate");
	egress_intercept_free(intercept);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(follows_the_map),
		cmocka_unit_test(has_exceptions),
		cmocka_unit_test(without_mitm_nothing_is_touched),
	};

	return KODA_TEST_RUN(tests);
}
