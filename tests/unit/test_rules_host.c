/* SPDX-License-Identifier: MIT */
/* The verdicts: names, patterns, ports and addresses of connections. */
#include "koda_test.h"

#include "../lib/rules.h"
#include "policy/policy.h"
#include "policy/rules.h"

#include <koda/rules.h>

static const struct koda_place nowhere = { .size = sizeof(nowhere) };

struct host_row {
	const char *host;
	uint16_t port;
	enum koda_answer answer;
	enum koda_reason reason;
};

static void check_hosts(const char *policy, const struct host_row *rows)
{
	struct koda_rules *rules = koda_rules_of(policy, &nowhere);

	for (; rows->host; rows++) {
		struct koda_verdict v =
			koda_rules_connect(rules, rows->host, strlen(rows->host), rows->port);

		KODA_EXPECT(rows->host, v.answer == rows->answer);
		KODA_EXPECT(rows->host, v.reason == rows->reason);
	}
	koda_rules_free(rules);
}

static void domain_lists_follow_the_truth_table(void **state)
{
	(void)state;
	check_hosts("{}",
		    (const struct host_row[]){ { "a.com", 443, KODA_ALLOW, KODA_REASON_DEFAULT },
					       { "8.8.8.8", 53, KODA_ALLOW, KODA_REASON_DEFAULT },
					       { 0 } });
	check_hosts("{'net':{'denied_domains':['bad.com']}}",
		    (const struct host_row[]){ { "bad.com", 1, KODA_DENY, KODA_REASON_HOST_DENIED },
					       { "good.com", 1, KODA_ALLOW, KODA_REASON_DEFAULT },
					       { 0 } });
	check_hosts(
		"{'net':{'allowed_domains':['good.com']}}",
		(const struct host_row[]){ { "good.com", 1, KODA_ALLOW, KODA_REASON_HOST_ALLOWED },
					   { "bad.com", 1, KODA_DENY, KODA_REASON_DEFAULT },
					   { 0 } });
	check_hosts("{'net':{'allowed_domains':['*.good.com'],'denied_domains':['x.good.com']}}",
		    (const struct host_row[]){
			    { "x.good.com", 1, KODA_DENY, KODA_REASON_HOST_DENIED },
			    { "y.good.com", 1, KODA_ALLOW, KODA_REASON_HOST_ALLOWED },
			    { 0 } });
	check_hosts(
		"{'net':{'denied_domains':['*']}}",
		(const struct host_row[]){ { "a.com", 443, KODA_DENY, KODA_REASON_HOST_DENIED },
					   { "8.8.8.8", 443, KODA_DENY, KODA_REASON_HOST_DENIED },
					   { 0 } });
}

static void patterns_match_names_depth_and_ports(void **state)
{
	(void)state;
	check_hosts("{'net':{'allowed_domains':['a.com:443','*.b.com','c.com','8.8.0.0/16:53']}}",
		    (const struct host_row[]){
			    { "a.com", 443, KODA_ALLOW, KODA_REASON_HOST_ALLOWED },
			    { "A.Com.", 443, KODA_ALLOW, KODA_REASON_HOST_ALLOWED },
			    { "a.com", 80, KODA_DENY, KODA_REASON_DEFAULT },
			    { "xa.com", 443, KODA_DENY, KODA_REASON_DEFAULT },
			    { "a.com.evil.org", 443, KODA_DENY, KODA_REASON_DEFAULT },
			    { "b.com", 443, KODA_DENY, KODA_REASON_DEFAULT },
			    { "x.b.com", 443, KODA_ALLOW, KODA_REASON_HOST_ALLOWED },
			    { "x.y.b.com", 22, KODA_ALLOW, KODA_REASON_HOST_ALLOWED },
			    { "xb.com", 443, KODA_DENY, KODA_REASON_DEFAULT },
			    { "c.com", 65535, KODA_ALLOW, KODA_REASON_HOST_ALLOWED },
			    { "c.com", 0, KODA_DENY, KODA_REASON_INVALID },
			    { "8.8.4.4", 53, KODA_ALLOW, KODA_REASON_HOST_ALLOWED },
			    { "8.8.4.4", 443, KODA_DENY, KODA_REASON_DEFAULT },
			    { "8.9.4.4", 53, KODA_DENY, KODA_REASON_DEFAULT },
			    { "a.com\n", 443, KODA_DENY, KODA_REASON_INVALID },
			    { "a b.com", 443, KODA_DENY, KODA_REASON_INVALID },
			    { "", 443, KODA_DENY, KODA_REASON_INVALID },
			    { 0 } });
}

/* T-07 literals that lead to this machine or its network, in every spelling. */
static void special_literals_need_a_rule_that_lists_them(void **state)
{
	static const char *const special[] = {
		"127.0.0.1",          "2130706433",      "0x7f000001",
		"0177.0.0.1",         "127.1",           "[::1]",
		"[::ffff:127.0.0.1]", "[::7f00:1]",      "[2002:7f00:1::]",
		"[64:ff9b::7f00:1]",  "169.254.169.254", "10.1.2.3",
		"[fd00::1]",          "[fe80::1]",       "100.64.0.1",
		"224.0.0.1",          "0.0.0.0",         "255.255.255.255"
	};

	(void)state;
	KODA_EACH(host, special)
		check_hosts("{}", (const struct host_row[]){
					  { *host, 80, KODA_DENY, KODA_REASON_ADDRESS }, { 0 } });
	check_hosts("{'net':{'allowed_domains':['127.0.0.1:80','10.0.0.0/8','169.254.0.0/16',"
		    "'0.0.0.0/0']}}",
		    (const struct host_row[]){
			    { "127.1", 80, KODA_ALLOW, KODA_REASON_HOST_ALLOWED },
			    { "127.0.0.1", 81, KODA_DENY, KODA_REASON_ADDRESS },
			    { "127.0.0.2", 80, KODA_DENY, KODA_REASON_ADDRESS },
			    { "10.1.2.3", 1, KODA_ALLOW, KODA_REASON_HOST_ALLOWED },
			    { "169.254.1.1", 1, KODA_ALLOW, KODA_REASON_HOST_ALLOWED },
			    /* Metadata needs its own literal, and "everything" lists nothing. */
			    { "169.254.169.254", 1, KODA_DENY, KODA_REASON_ADDRESS },
			    { "192.168.1.1", 1, KODA_DENY, KODA_REASON_ADDRESS },
			    { "8.8.8.8", 1, KODA_ALLOW, KODA_REASON_HOST_ALLOWED },
			    { 0 } });
}

static struct koda_addr v4(uint8_t a, uint8_t b, uint8_t c, uint8_t d)
{
	return (struct koda_addr){ .family = 4, .bytes = { a, b, c, d } };
}

/* T-07 a denied IPv4 range is denied inside IPv6 forms too. */
static void denied_addresses_have_no_second_spelling(void **state)
{
	(void)state;
	check_hosts("{'net':{'denied_domains':['8.8.8.0/24']}}",
		    (const struct host_row[]){
			    { "8.8.8.8", 1, KODA_DENY, KODA_REASON_HOST_DENIED },
			    { "[64:ff9b::8.8.8.8]", 1, KODA_DENY, KODA_REASON_HOST_DENIED },
			    { "[2002:808:808::1]", 1, KODA_DENY, KODA_REASON_HOST_DENIED },
			    { "[::ffff:8.8.8.8]", 1, KODA_DENY, KODA_REASON_HOST_DENIED },
			    { "[64:ff9b::8.8.4.4]", 1, KODA_ALLOW, KODA_REASON_DEFAULT },
			    { 0 } });
}

/* T-07 an allowed name that resolves to where it must not. */
static void resolved_addresses_are_judged_too(void **state)
{
	struct koda_rules *rules = koda_rules_of(
		"{'net':{'allowed_domains':['exact.test','*.wild.test','soft.test#public'],"
		"'denied_domains':['9.9.9.0/24']}}",
		&nowhere);
	const struct koda_addr loopback = v4(127, 0, 0, 1);
	const struct koda_addr public_ = v4(93, 184, 216, 34);
	const struct koda_addr denied = v4(9, 9, 9, 9);
	const struct koda_addr mapped = { .family = 6,
					  .bytes = { [10] = 0xff, 0xff, 127, 0, 0, 1 } };
	const struct koda_addr nonsense = { .family = 7 };
	const struct {
		const char *host;
		const struct koda_addr *addr;
		enum koda_answer answer;
		enum koda_reason reason;
	} rows[] = {
		{ "exact.test", &public_, KODA_ALLOW, KODA_REASON_HOST_ALLOWED },
		{ "exact.test", &loopback, KODA_ALLOW, KODA_REASON_HOST_ALLOWED },
		{ "exact.test", &denied, KODA_DENY, KODA_REASON_HOST_DENIED },
		{ "exact.test", &nonsense, KODA_DENY, KODA_REASON_INVALID },
		{ "a.wild.test", &public_, KODA_ALLOW, KODA_REASON_HOST_ALLOWED },
		{ "a.wild.test", &loopback, KODA_DENY, KODA_REASON_ADDRESS },
		{ "a.wild.test", &mapped, KODA_DENY, KODA_REASON_ADDRESS },
		{ "soft.test", &public_, KODA_ALLOW, KODA_REASON_HOST_ALLOWED },
		{ "soft.test", &loopback, KODA_DENY, KODA_REASON_ADDRESS },
		{ "other.test", &public_, KODA_DENY, KODA_REASON_DEFAULT },
	};

	(void)state;
	KODA_EACH(row, rows) {
		struct koda_verdict v =
			koda_rules_address(rules, row->host, strlen(row->host), 443, row->addr);

		KODA_EXPECT(row->host, v.answer == row->answer && v.reason == row->reason);
	}
	koda_rules_free(rules);
}

static void rules_for_paths_deny_every_host(void **state)
{
	const struct koda_addr public = { .family = 4, .bytes = { 192, 0, 1, 1 } };
	struct koda_policy *policy = NULL;
	struct koda_rules *rules = NULL;
	struct koda_error err = { 0 };

	(void)state;
	/* Without any list every public host would be allowed. */
	KODA_ASSERT_OK(koda_policy_new(&policy, &err), err);
	KODA_ASSERT_OK(koda_rules_new_for_paths(policy, &nowhere, &rules, &err), err);
	assert_int_equal(koda_rules_connect(rules, "a.example", 9, 443).answer, KODA_DENY);
	assert_int_equal(koda_rules_address(rules, "a.example", 9, 443, &public).answer, KODA_DENY);
	koda_rules_free(rules);
	koda_policy_free(policy);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(domain_lists_follow_the_truth_table),
		cmocka_unit_test(patterns_match_names_depth_and_ports),
		cmocka_unit_test(special_literals_need_a_rule_that_lists_them),
		cmocka_unit_test(denied_addresses_have_no_second_spelling),
		cmocka_unit_test(resolved_addresses_are_judged_too),
		cmocka_unit_test(rules_for_paths_deny_every_host),
	};

	return KODA_TEST_RUN(tests);
}
