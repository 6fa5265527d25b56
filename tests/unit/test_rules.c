/* SPDX-License-Identifier: MIT */
/* The verdicts: order of rules for reads, writes and connections, with the floor on top. */
#include "koda_test.h"

#include "policy/policy.h"
#include "policy/rules.h"

#include <koda/rules.h>

static const struct koda_place nowhere;
static const struct koda_place place = { .root = "/p", .home = "/home/u" };

/* Rules from JSON; quotes are written as ' to keep the tables readable. */
static struct koda_rules *rules_of(const char *text, const struct koda_place *where)
{
	struct koda_policy *policy = NULL;
	struct koda_rules *rules = NULL;
	struct koda_error err = { 0 };
	char *json = strdup(text);

	assert_non_null(json);
	for (char *c = json; *c; c++)
		if (*c == '\'')
			*c = '"';
	KODA_ASSERT_OK(koda_policy_parse(json, strlen(json), &policy, &err), err);
	KODA_ASSERT_OK(koda_rules_new(policy, where, &rules, &err), err);
	koda_policy_free(policy);
	free(json);
	return rules;
}

struct path_row {
	const char *path;
	enum koda_answer answer;
	enum koda_why why;
	const char *rule;
};

static void check_paths(const struct koda_rules *rules, bool write, const struct path_row *rows)
{
	for (; rows->path; rows++) {
		struct koda_verdict v =
			write ? koda_rules_write(rules, rows->path, strlen(rows->path))
			      : koda_rules_read(rules, rows->path, strlen(rows->path));

		KODA_EXPECT(rows->path, v.answer == rows->answer);
		KODA_EXPECT(rows->path, v.why == rows->why);
		KODA_ASSERT_SPAN(v.rule, rows->rule);
	}
}

static void deepest_read_rule_wins_and_deny_wins_a_tie(void **state)
{
	struct koda_rules *rules =
		rules_of("{'fs':{'deny_read':['/a','/a/b/c','/tie'],"
			 "'allow_read_within_deny':['/a/b','/a/b/c/d','/tie','/free']}}",
			 &nowhere);
	const struct path_row rows[] = {
		{ "/", KODA_ALLOW, KODA_WHY_DEFAULT, "" },
		{ "/a", KODA_DENY, KODA_WHY_DENY_READ, "/a" },
		{ "/a/x/y", KODA_DENY, KODA_WHY_DENY_READ, "/a" },
		{ "/ab", KODA_ALLOW, KODA_WHY_DEFAULT, "" },
		{ "/a/b", KODA_ALLOW, KODA_WHY_READ_HOLE, "/a/b" },
		{ "/a/b/cc", KODA_ALLOW, KODA_WHY_READ_HOLE, "/a/b" },
		{ "/a/b/c/x", KODA_DENY, KODA_WHY_DENY_READ, "/a/b/c" },
		{ "/a/b/c/d/e", KODA_ALLOW, KODA_WHY_READ_HOLE, "/a/b/c/d" },
		{ "/tie/x", KODA_DENY, KODA_WHY_DENY_READ, "/tie" },
		{ "/free/x", KODA_ALLOW, KODA_WHY_DEFAULT, "" },
		{ NULL, KODA_DENY, KODA_WHY_INVALID, NULL },
	};

	(void)state;
	check_paths(rules, false, rows);
	koda_rules_free(rules);
}

static void a_write_needs_allow_and_no_deny_at_any_depth(void **state)
{
	struct koda_rules *rules =
		rules_of("{'fs':{'allow_write':['/w','/w/ro/again','/w/secret/hole'],"
			 "'deny_write_within_allow':['/w/ro'],'deny_read':['/w/secret'],"
			 "'allow_read_within_deny':['/w/secret/hole']}}",
			 &nowhere);
	const struct path_row rows[] = {
		{ "/x", KODA_DENY, KODA_WHY_DEFAULT, "" },
		{ "/w", KODA_ALLOW, KODA_WHY_ALLOW_WRITE, "/w" },
		{ "/w/x", KODA_ALLOW, KODA_WHY_ALLOW_WRITE, "/w" },
		{ "/ww", KODA_DENY, KODA_WHY_DEFAULT, "" },
		{ "/w/ro", KODA_DENY, KODA_WHY_DENY_WRITE, "/w/ro" },
		{ "/w/ro/again/x", KODA_DENY, KODA_WHY_DENY_WRITE, "/w/ro" },
		{ "/w/secret/x", KODA_DENY, KODA_WHY_DENY_READ, "/w/secret" },
		{ "/w/secret/hole/x", KODA_DENY, KODA_WHY_DENY_READ, "/w/secret" },
		{ NULL, KODA_DENY, KODA_WHY_INVALID, NULL },
	};

	(void)state;
	check_paths(rules, true, rows);
	koda_rules_free(rules);
}

static void unset_and_empty_allow_write_make_nothing_writable(void **state)
{
	static const char *const texts[] = { "{}", "{'fs':{'allow_write':null}}",
					     "{'fs':{'allow_write':[]}}" };

	(void)state;
	KODA_EACH(text, texts) {
		struct koda_rules *rules = rules_of(*text, &place);

		KODA_EXPECT(*text, koda_rules_write(rules, "/p/x", 4).answer == KODA_DENY);
		koda_rules_free(rules);
	}
}

/* T-01 a policy that allows everything still leaves the floor in place. */
static void the_floor_beats_every_list(void **state)
{
	struct koda_rules *rules =
		rules_of("{'fs':{'allow_write':['/','/home/u/.config/koda/db'],"
			 "'deny_read':['/home/u/.config'],"
			 "'allow_read_within_deny':['/home/u/.config/koda/db/x']}}",
			 &place);
	const struct path_row writes[] = {
		{ "/home/u/.ssh/id", KODA_DENY, KODA_WHY_CREDENTIALS, "/home/u/.ssh" },
		{ "/home/u/.config/koda/db", KODA_DENY, KODA_WHY_OWN_STATE,
		  "/home/u/.config/koda/db" },
		{ "/p/.koda/agents/a.md", KODA_DENY, KODA_WHY_PROJECT_NAME, "/p/.koda/agents" },
		{ "/p/.git/hooks/pre-commit", KODA_DENY, KODA_WHY_GIT, "/p/.git/hooks" },
		{ "/sys/power/state", KODA_DENY, KODA_WHY_KERNEL, "/sys" },
		{ "/p/.git/index", KODA_ALLOW, KODA_WHY_ALLOW_WRITE, "/" },
		{ "/home/u/.sshx", KODA_ALLOW, KODA_WHY_ALLOW_WRITE, "/" },
		{ NULL, KODA_DENY, KODA_WHY_INVALID, NULL },
	};
	const struct path_row reads[] = {
		{ "/home/u/.config/koda/db/x", KODA_DENY, KODA_WHY_OWN_STATE,
		  "/home/u/.config/koda/db" },
		{ "/home/u/.ssh/id", KODA_ALLOW, KODA_WHY_DEFAULT, "" },
		{ NULL, KODA_DENY, KODA_WHY_INVALID, NULL },
	};

	(void)state;
	check_paths(rules, true, writes);
	check_paths(rules, false, reads);
	koda_rules_free(rules);
}

static void malformed_paths_are_denied(void **state)
{
	struct koda_rules *rules = rules_of("{'fs':{'allow_write':['/']}}", &nowhere);
	char long_path[5000];
	static const struct {
		const char *name;
		const char *path;
		size_t len;
	} rows[] = {
		{ "empty", "", 0 },         { "relative", "a", 1 },    { "dot-dot", "/a/../b", 7 },
		{ "NUL", "/a\0b", 4 },      { "NUL last", "/a\0", 3 }, { "dot-dot last", "/..", 3 },
		{ "NUL first", "\0/a", 3 },
	};

	(void)state;
	KODA_EACH(row, rows) {
		struct koda_verdict r = koda_rules_read(rules, row->path, row->len);
		struct koda_verdict w = koda_rules_write(rules, row->path, row->len);

		KODA_EXPECT(row->name, r.answer == KODA_DENY && r.why == KODA_WHY_INVALID);
		KODA_EXPECT(row->name, w.answer == KODA_DENY && w.why == KODA_WHY_INVALID);
	}
	memset(long_path, '/', sizeof(long_path));
	assert_int_equal(koda_rules_read(rules, long_path, 4096).why, KODA_WHY_INVALID);
	assert_int_equal(koda_rules_read(rules, long_path, 4095).why, KODA_WHY_DEFAULT);
	/* The twin: spellings that mean a sound path are judged as that path. */
	assert_int_equal(koda_rules_write(rules, "//a/./b/", 8).answer, KODA_ALLOW);
	koda_rules_free(rules);
}

struct host_row {
	const char *host;
	uint16_t port;
	enum koda_answer answer;
	enum koda_why why;
};

static void check_hosts(const char *policy, const struct host_row *rows)
{
	struct koda_rules *rules = rules_of(policy, &nowhere);

	for (; rows->host; rows++) {
		struct koda_verdict v =
			koda_rules_connect(rules, rows->host, strlen(rows->host), rows->port);

		KODA_EXPECT(rows->host, v.answer == rows->answer);
		KODA_EXPECT(rows->host, v.why == rows->why);
	}
	koda_rules_free(rules);
}

static void domain_lists_follow_the_truth_table(void **state)
{
	(void)state;
	check_hosts("{}",
		    (const struct host_row[]){ { "a.com", 443, KODA_ALLOW, KODA_WHY_DEFAULT },
					       { "8.8.8.8", 53, KODA_ALLOW, KODA_WHY_DEFAULT },
					       { 0 } });
	check_hosts("{'net':{'denied_domains':['bad.com']}}",
		    (const struct host_row[]){ { "bad.com", 1, KODA_DENY, KODA_WHY_HOST_DENIED },
					       { "good.com", 1, KODA_ALLOW, KODA_WHY_DEFAULT },
					       { 0 } });
	check_hosts("{'net':{'allowed_domains':['good.com']}}",
		    (const struct host_row[]){ { "good.com", 1, KODA_ALLOW, KODA_WHY_HOST_ALLOWED },
					       { "bad.com", 1, KODA_DENY, KODA_WHY_DEFAULT },
					       { 0 } });
	check_hosts(
		"{'net':{'allowed_domains':['*.good.com'],'denied_domains':['x.good.com']}}",
		(const struct host_row[]){ { "x.good.com", 1, KODA_DENY, KODA_WHY_HOST_DENIED },
					   { "y.good.com", 1, KODA_ALLOW, KODA_WHY_HOST_ALLOWED },
					   { 0 } });
	check_hosts("{'net':{'denied_domains':['*']}}",
		    (const struct host_row[]){ { "a.com", 443, KODA_DENY, KODA_WHY_HOST_DENIED },
					       { "8.8.8.8", 443, KODA_DENY, KODA_WHY_HOST_DENIED },
					       { 0 } });
}

static void patterns_match_names_depth_and_ports(void **state)
{
	(void)state;
	check_hosts(
		"{'net':{'allowed_domains':['a.com:443','*.b.com','c.com','8.8.0.0/16:53']}}",
		(const struct host_row[]){ { "a.com", 443, KODA_ALLOW, KODA_WHY_HOST_ALLOWED },
					   { "A.Com.", 443, KODA_ALLOW, KODA_WHY_HOST_ALLOWED },
					   { "a.com", 80, KODA_DENY, KODA_WHY_DEFAULT },
					   { "xa.com", 443, KODA_DENY, KODA_WHY_DEFAULT },
					   { "a.com.evil.org", 443, KODA_DENY, KODA_WHY_DEFAULT },
					   { "b.com", 443, KODA_DENY, KODA_WHY_DEFAULT },
					   { "x.b.com", 443, KODA_ALLOW, KODA_WHY_HOST_ALLOWED },
					   { "x.y.b.com", 22, KODA_ALLOW, KODA_WHY_HOST_ALLOWED },
					   { "xb.com", 443, KODA_DENY, KODA_WHY_DEFAULT },
					   { "c.com", 65535, KODA_ALLOW, KODA_WHY_HOST_ALLOWED },
					   { "c.com", 0, KODA_DENY, KODA_WHY_INVALID },
					   { "8.8.4.4", 53, KODA_ALLOW, KODA_WHY_HOST_ALLOWED },
					   { "8.8.4.4", 443, KODA_DENY, KODA_WHY_DEFAULT },
					   { "8.9.4.4", 53, KODA_DENY, KODA_WHY_DEFAULT },
					   { "a.com\n", 443, KODA_DENY, KODA_WHY_INVALID },
					   { "a b.com", 443, KODA_DENY, KODA_WHY_INVALID },
					   { "", 443, KODA_DENY, KODA_WHY_INVALID },
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
					  { *host, 80, KODA_DENY, KODA_WHY_ADDRESS }, { 0 } });
	check_hosts("{'net':{'allowed_domains':['127.0.0.1:80','10.0.0.0/8','169.254.0.0/16',"
		    "'0.0.0.0/0']}}",
		    (const struct host_row[]){
			    { "127.1", 80, KODA_ALLOW, KODA_WHY_HOST_ALLOWED },
			    { "127.0.0.1", 81, KODA_DENY, KODA_WHY_ADDRESS },
			    { "127.0.0.2", 80, KODA_DENY, KODA_WHY_ADDRESS },
			    { "10.1.2.3", 1, KODA_ALLOW, KODA_WHY_HOST_ALLOWED },
			    { "169.254.1.1", 1, KODA_ALLOW, KODA_WHY_HOST_ALLOWED },
			    /* Metadata needs its own literal, and "everything" lists nothing. */
			    { "169.254.169.254", 1, KODA_DENY, KODA_WHY_ADDRESS },
			    { "192.168.1.1", 1, KODA_DENY, KODA_WHY_ADDRESS },
			    { "8.8.8.8", 1, KODA_ALLOW, KODA_WHY_HOST_ALLOWED },
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
			    { "8.8.8.8", 1, KODA_DENY, KODA_WHY_HOST_DENIED },
			    { "[64:ff9b::8.8.8.8]", 1, KODA_DENY, KODA_WHY_HOST_DENIED },
			    { "[2002:808:808::1]", 1, KODA_DENY, KODA_WHY_HOST_DENIED },
			    { "[::ffff:8.8.8.8]", 1, KODA_DENY, KODA_WHY_HOST_DENIED },
			    { "[64:ff9b::8.8.4.4]", 1, KODA_ALLOW, KODA_WHY_DEFAULT },
			    { 0 } });
}

/* T-07 an allowed name that resolves to where it must not. */
static void resolved_addresses_are_judged_too(void **state)
{
	struct koda_rules *rules = rules_of(
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
		enum koda_why why;
	} rows[] = {
		{ "exact.test", &public_, KODA_ALLOW, KODA_WHY_HOST_ALLOWED },
		{ "exact.test", &loopback, KODA_ALLOW, KODA_WHY_HOST_ALLOWED },
		{ "exact.test", &denied, KODA_DENY, KODA_WHY_HOST_DENIED },
		{ "exact.test", &nonsense, KODA_DENY, KODA_WHY_INVALID },
		{ "a.wild.test", &public_, KODA_ALLOW, KODA_WHY_HOST_ALLOWED },
		{ "a.wild.test", &loopback, KODA_DENY, KODA_WHY_ADDRESS },
		{ "a.wild.test", &mapped, KODA_DENY, KODA_WHY_ADDRESS },
		{ "soft.test", &public_, KODA_ALLOW, KODA_WHY_HOST_ALLOWED },
		{ "soft.test", &loopback, KODA_DENY, KODA_WHY_ADDRESS },
		{ "other.test", &public_, KODA_DENY, KODA_WHY_DEFAULT },
	};

	(void)state;
	KODA_EACH(row, rows) {
		struct koda_verdict v =
			koda_rules_address(rules, row->host, strlen(row->host), 443, row->addr);

		KODA_EXPECT(row->host, v.answer == row->answer && v.why == row->why);
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
	KODA_ASSERT_OK(koda_rules_new_for_paths(policy, &place, &rules, &err), err);
	assert_int_equal(koda_rules_connect(rules, "a.example", 9, 443).answer, KODA_DENY);
	assert_int_equal(koda_rules_address(rules, "a.example", 9, 443, &public).answer, KODA_DENY);
	koda_rules_free(rules);
	koda_policy_free(policy);
}

static void every_reason_has_a_name(void **state)
{
	(void)state;
	for (int why = 0; why < KODA_WHY_COUNT; why++)
		assert_true(koda_why_name((enum koda_why)why)[0] != '\0');
	assert_string_equal(koda_why_name(KODA_WHY_DENY_READ), "fs.deny_read");
	assert_string_equal(koda_why_name((enum koda_why)99), "invalid");
}

static void a_relative_place_is_refused(void **state)
{
	struct koda_policy *policy = NULL;
	struct koda_rules *rules = NULL;
	struct koda_error err = { 0 };
	const struct koda_place bad = { .root = "p" };

	(void)state;
	KODA_ASSERT_OK(koda_policy_new(&policy, &err), err);
	KODA_ASSERT_FAILS(KODA_E_POLICY, koda_rules_new(policy, &bad, &rules, &err), err);
	assert_null(rules);
	koda_policy_free(policy);
	koda_rules_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(deepest_read_rule_wins_and_deny_wins_a_tie),
		cmocka_unit_test(a_write_needs_allow_and_no_deny_at_any_depth),
		cmocka_unit_test(unset_and_empty_allow_write_make_nothing_writable),
		cmocka_unit_test(the_floor_beats_every_list),
		cmocka_unit_test(malformed_paths_are_denied),
		cmocka_unit_test(domain_lists_follow_the_truth_table),
		cmocka_unit_test(patterns_match_names_depth_and_ports),
		cmocka_unit_test(special_literals_need_a_rule_that_lists_them),
		cmocka_unit_test(denied_addresses_have_no_second_spelling),
		cmocka_unit_test(resolved_addresses_are_judged_too),
		cmocka_unit_test(rules_for_paths_deny_every_host),
		cmocka_unit_test(every_reason_has_a_name),
		cmocka_unit_test(a_relative_place_is_refused),
	};

	return KODA_TEST_RUN(tests);
}
