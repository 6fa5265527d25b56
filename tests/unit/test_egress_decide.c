/* SPDX-License-Identifier: MIT */
/* T-07, T-80. Decisions about hosts and about each address they lead to. */
#include "koda_test.h"

#include "route/decide.h"
#include "route/ruleset.h"

#include "policy/policy.h"

static struct egress_ruleset *rules_of(const char *net)
{
	const struct koda_place nowhere = { .size = sizeof(nowhere) };
	struct koda_policy *policy = NULL;
	struct koda_rules *rules = NULL;
	struct koda_error err = { 0 };
	struct egress_ruleset *set;
	char text[512];
	int len = snprintf(text, sizeof(text), "{\"net\":{%s}}", net);

	KODA_ASSERT_OK(koda_policy_parse(text, (size_t)len, &policy, &err), err);
	KODA_ASSERT_OK(koda_rules_new(policy, &nowhere, &rules, &err), err);
	koda_policy_free(policy);
	set = egress_ruleset_new(rules);
	assert_non_null(set);
	return set;
}

static struct koda_addr addr(const char *text)
{
	struct koda_addr parsed;

	if (!koda_addr_parse4(koda_span_of(text), &parsed))
		assert_true(koda_addr_parse6(koda_span_of(text), &parsed));
	return parsed;
}

static struct egress_target target(const char *host, uint16_t port)
{
	struct egress_target t;
	struct koda_error err = { 0 };

	KODA_ASSERT_OK(egress_target_set(&t, koda_span_of(host), port, &err), err);
	return t;
}

static void test_target(void **state)
{
	struct egress_target a = target("Example.COM.", 443);
	struct egress_target b = target("example.com", 443);
	struct egress_target c = target("[::1]", 443);
	struct koda_error err = { 0 };

	(void)state;
	assert_string_equal(a.text, "example.com");
	assert_string_equal(c.text, "::1");
	assert_true(egress_target_equal(&a, &b));
	assert_false(egress_target_equal(&a, &c));
	b.port = 444;
	assert_false(egress_target_equal(&a, &b));
	assert_string_equal(target("0x7f.1", 1).text, "127.0.0.1");
	KODA_ASSERT_FAILS(KODA_E_POLICY, egress_target_set(&a, koda_span_of("a b"), 1, &err), err);
	KODA_ASSERT_FAILS(KODA_E_POLICY, egress_target_set(&a, koda_span_of("a"), 0, &err), err);
}

static void test_host(void **state)
{
	struct egress_ruleset *set = rules_of("\"allowed_domains\":[\"*.example.com:443\"],"
					      "\"denied_domains\":[\"bad.example.com\"]");
	static const struct {
		const char *host;
		uint16_t port;
		enum koda_egress_reason reason;
		const char *rule;
	} rows[] = {
		{ "a.example.com", 443, KODA_EGRESS_OK, "*.example.com:443" },
		{ "a.example.com", 22, KODA_EGRESS_NOT_LISTED, "" },
		{ "bad.example.com", 443, KODA_EGRESS_RULE_DENIED, "bad.example.com" },
		{ "example.org", 443, KODA_EGRESS_NOT_LISTED, "" },
		{ "8.8.8.8", 443, KODA_EGRESS_NOT_LISTED, "" },
	};

	(void)state;
	KODA_EACH(row, rows) {
		struct egress_target t = target(row->host, row->port);
		struct egress_decision d = egress_decide_host(set->rules, &t);

		KODA_EXPECT(row->host, d.reason == row->reason);
		KODA_ASSERT_SPAN(d.rule, row->rule);
	}
	egress_ruleset_unref(set);
}

/* The machine's own public address, which no class gives away. */
static void test_own(void **state)
{
	struct koda_addr mine[] = { addr("8.8.4.4"), addr("2001:4860:4860::8844"),
				    addr("192.168.7.7") };
	struct egress_host_addrs own = { .changes = -1, .addrs = mine, .count = 3 };
	static const struct {
		const char *net;
		const char *host;
		const char *addr;
		enum koda_egress_reason reason;
	} rows[] = {
		{ "", "a.example", "8.8.8.8", KODA_EGRESS_OK },
		{ "", "a.example", "8.8.4.4", KODA_EGRESS_ADDRESS_GUARD },
		{ "", "8.8.4.4", "8.8.4.4", KODA_EGRESS_ADDRESS_GUARD },
		{ "", "a.example", "::ffff:8.8.4.4", KODA_EGRESS_ADDRESS_GUARD },
		{ "", "a.example", "2001:4860:4860::8844", KODA_EGRESS_ADDRESS_GUARD },
		{ "\"allowed_domains\":[\"8.8.4.4\"]", "8.8.4.4", "8.8.4.4", KODA_EGRESS_OK },
		{ "\"allowed_domains\":[\"8.8.4.0/24\"]", "8.8.4.4", "8.8.4.4",
		  KODA_EGRESS_ADDRESS_GUARD },
		{ "\"allowed_domains\":[\"8.8.4.0/24\"]", "8.8.4.5", "8.8.4.5", KODA_EGRESS_OK },
		{ "\"allowed_domains\":[\"a.example\"]", "a.example", "8.8.4.4", KODA_EGRESS_OK },
		{ "\"allowed_domains\":[\"a.example#public\"]", "a.example", "8.8.4.4",
		  KODA_EGRESS_ADDRESS_GUARD },
		{ "\"allowed_domains\":[\"*.b.example\"]", "a.b.example", "8.8.4.4",
		  KODA_EGRESS_ADDRESS_GUARD },
		{ "\"allowed_domains\":[\"*.b.example\",\"8.8.4.4\"]", "a.b.example", "8.8.4.4",
		  KODA_EGRESS_OK },
		{ "\"allowed_domains\":[\"192.168.0.0/16\"]", "192.168.7.8", "192.168.7.8",
		  KODA_EGRESS_OK },
		{ "\"allowed_domains\":[\"192.168.0.0/16\"]", "192.168.7.7", "192.168.7.7",
		  KODA_EGRESS_ADDRESS_GUARD },
		{ "\"allowed_domains\":[\"127.0.0.0/8\"]", "127.0.0.1", "127.0.0.1",
		  KODA_EGRESS_OK },
		{ "", "a.example", "127.0.0.1", KODA_EGRESS_ADDRESS_GUARD },
		{ "", "a.example", "169.254.169.254", KODA_EGRESS_ADDRESS_GUARD },
	};

	(void)state;
	KODA_EACH(row, rows) {
		struct egress_ruleset *set = rules_of(row->net);
		struct egress_target t = target(row->host, 443);
		struct koda_addr a = addr(row->addr);
		struct egress_decision d = egress_decide_address(set->rules, &own, &t, false, &a);

		if (d.reason != row->reason)
			fail_msg("%s %s %s: %d", row->net, row->host, row->addr, d.reason);
		egress_ruleset_unref(set);
	}
}

/* Allowed by a person: public, and not denied in any form. */
static void test_asked(void **state)
{
	struct koda_addr mine[] = { addr("8.8.4.4") };
	struct egress_host_addrs own = { .changes = -1, .addrs = mine, .count = 1 };
	struct egress_ruleset *set = rules_of("\"allowed_domains\":[\"x.example\",\"10.0.0.0/8\"],"
					      "\"denied_domains\":[\"9.9.9.9\"]");
	struct egress_target t = target("asked.example", 443);
	static const struct {
		const char *addr;
		enum koda_egress_reason reason;
	} rows[] = {
		{ "8.8.8.8", KODA_EGRESS_OK },
		{ "2606:4700::1", KODA_EGRESS_OK },
		{ "8.8.4.4", KODA_EGRESS_ADDRESS_GUARD },
		{ "10.0.0.1", KODA_EGRESS_ADDRESS_GUARD },
		{ "127.0.0.1", KODA_EGRESS_ADDRESS_GUARD },
		{ "::1", KODA_EGRESS_ADDRESS_GUARD },
		{ "9.9.9.9", KODA_EGRESS_RULE_DENIED },
		{ "64:ff9b::909:909", KODA_EGRESS_RULE_DENIED },
	};

	(void)state;
	KODA_EACH(row, rows) {
		struct koda_addr a = addr(row->addr);
		struct egress_decision d = egress_decide_address(set->rules, &own, &t, true, &a);

		if (d.reason != row->reason)
			fail_msg("%s: %d", row->addr, d.reason);
	}
	egress_ruleset_unref(set);
}

/* The machine's list has loopback, and not a public address of another machine. */
static void test_own_list(void **state)
{
	struct egress_host_addrs own = EGRESS_HOST_ADDRS_INIT;
	struct koda_error err = { 0 };
	struct koda_addr loopback = addr("127.0.0.1");
	struct koda_addr other = addr("192.0.2.99");

	(void)state;
	KODA_ASSERT_OK(egress_host_addrs_open(&own, &err), err);
	assert_true(egress_host_addrs_has(&own, &loopback));
	assert_false(egress_host_addrs_has(&own, &other));
	own.stale = true; /* reads it again */
	assert_true(egress_host_addrs_has(&own, &loopback));
	assert_false(own.stale);
	egress_host_addrs_close(&own);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_target),   cmocka_unit_test(test_host),
		cmocka_unit_test(test_own),      cmocka_unit_test(test_asked),
		cmocka_unit_test(test_own_list),
	};

	return KODA_TEST_RUN(tests);
}
