/* SPDX-License-Identifier: MIT */
/* The verdicts: order of rules for reads and writes, with the floor on top. */
#include "koda_test.h"

#include "../lib/rules.h"
#include "policy/policy.h"
#include "policy/rules.h"

#include <koda/rules.h>

#define STATE "/home/u/.config/koda/db"

static const struct koda_place nowhere = { .size = sizeof(nowhere) };
static const struct koda_place place = { .size = sizeof(place), .root = "/p", .home = "/home/u" };

struct path_row {
	const char *path;
	enum koda_answer answer;
	enum koda_reason reason;
	const char *rule;
};

static void check_paths(const struct koda_rules *rules, bool write, const struct path_row *rows)
{
	for (; rows->path; rows++) {
		struct koda_verdict v =
			write ? koda_rules_write(rules, rows->path, strlen(rows->path))
			      : koda_rules_read(rules, rows->path, strlen(rows->path));

		KODA_EXPECT(rows->path, v.answer == rows->answer);
		KODA_EXPECT(rows->path, v.reason == rows->reason);
		KODA_ASSERT_SPAN(v.rule, rows->rule);
	}
}

static void deepest_read_rule_wins_and_deny_wins_a_tie(void **state)
{
	struct koda_rules *rules =
		koda_rules_of("{'fs':{'deny_read':['/a','/a/b/c','/tie'],"
			      "'allow_read_within_deny':['/a/b','/a/b/c/d','/tie','/free']}}",
			      &nowhere);
	const struct path_row rows[] = {
		{ "/", KODA_ALLOW, KODA_REASON_DEFAULT, "" },
		{ "/a", KODA_DENY, KODA_REASON_DENY_READ, "/a" },
		{ "/a/x/y", KODA_DENY, KODA_REASON_DENY_READ, "/a" },
		{ "/ab", KODA_ALLOW, KODA_REASON_DEFAULT, "" },
		{ "/a/b", KODA_ALLOW, KODA_REASON_READ_HOLE, "/a/b" },
		{ "/a/b/cc", KODA_ALLOW, KODA_REASON_READ_HOLE, "/a/b" },
		{ "/a/b/c/x", KODA_DENY, KODA_REASON_DENY_READ, "/a/b/c" },
		{ "/a/b/c/d/e", KODA_ALLOW, KODA_REASON_READ_HOLE, "/a/b/c/d" },
		{ "/tie/x", KODA_DENY, KODA_REASON_DENY_READ, "/tie" },
		{ "/free/x", KODA_ALLOW, KODA_REASON_DEFAULT, "" },
		{ NULL, KODA_DENY, KODA_REASON_INVALID, NULL },
	};

	(void)state;
	check_paths(rules, false, rows);
	koda_rules_free(rules);
}

static void a_write_needs_allow_and_no_deny_at_any_depth(void **state)
{
	struct koda_rules *rules =
		koda_rules_of("{'fs':{'allow_write':['/w','/w/ro/again','/w/secret/hole'],"
			      "'deny_write_within_allow':['/w/ro'],'deny_read':['/w/secret'],"
			      "'allow_read_within_deny':['/w/secret/hole']}}",
			      &nowhere);
	const struct path_row rows[] = {
		{ "/x", KODA_DENY, KODA_REASON_DEFAULT, "" },
		{ "/w", KODA_ALLOW, KODA_REASON_ALLOW_WRITE, "/w" },
		{ "/w/x", KODA_ALLOW, KODA_REASON_ALLOW_WRITE, "/w" },
		{ "/ww", KODA_DENY, KODA_REASON_DEFAULT, "" },
		{ "/w/ro", KODA_DENY, KODA_REASON_DENY_WRITE, "/w/ro" },
		{ "/w/ro/again/x", KODA_DENY, KODA_REASON_DENY_WRITE, "/w/ro" },
		{ "/w/secret/x", KODA_DENY, KODA_REASON_DENY_READ, "/w/secret" },
		{ "/w/secret/hole/x", KODA_DENY, KODA_REASON_DENY_READ, "/w/secret" },
		{ NULL, KODA_DENY, KODA_REASON_INVALID, NULL },
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
		struct koda_rules *rules = koda_rules_of(*text, &place);

		KODA_EXPECT(*text, koda_rules_write(rules, "/p/x", 4).answer == KODA_DENY);
		koda_rules_free(rules);
	}
}

/* T-01 a policy that allows everything still leaves the floor in place. */
static void the_floor_beats_every_list(void **state)
{
	struct koda_rules *rules =
		koda_rules_of("{'fs':{'allow_write':['/','/home/u/.config/koda/db'],"
			      "'deny_read':['/home/u/.config'],"
			      "'allow_read_within_deny':['/home/u/.config/koda/db/x']}}",
			      &place);
	const struct path_row writes[] = {
		{ "/home/u/.ssh/id", KODA_DENY, KODA_REASON_CREDENTIALS, "/home/u/.ssh" },
		{ STATE, KODA_DENY, KODA_REASON_OWN_STATE, STATE },
		{ "/p/.koda/agents/a.md", KODA_DENY, KODA_REASON_PROJECT_NAME, "/p/.koda/agents" },
		{ "/p/.git/hooks/pre-commit", KODA_DENY, KODA_REASON_GIT, "/p/.git/hooks" },
		{ "/sys/power/state", KODA_DENY, KODA_REASON_KERNEL, "/sys" },
		{ "/p/.git/index", KODA_ALLOW, KODA_REASON_ALLOW_WRITE, "/" },
		{ "/home/u/.sshx", KODA_ALLOW, KODA_REASON_ALLOW_WRITE, "/" },
		{ NULL, KODA_DENY, KODA_REASON_INVALID, NULL },
	};
	const struct path_row reads[] = {
		{ STATE "/x", KODA_DENY, KODA_REASON_OWN_STATE, STATE },
		{ "/home/u/.ssh/id", KODA_ALLOW, KODA_REASON_DEFAULT, "" },
		{ NULL, KODA_DENY, KODA_REASON_INVALID, NULL },
	};

	(void)state;
	check_paths(rules, true, writes);
	check_paths(rules, false, reads);
	koda_rules_free(rules);
}

static void malformed_paths_are_denied(void **state)
{
	struct koda_rules *rules = koda_rules_of("{'fs':{'allow_write':['/']}}", &nowhere);
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

		KODA_EXPECT(row->name, r.answer == KODA_DENY && r.reason == KODA_REASON_INVALID);
		KODA_EXPECT(row->name, w.answer == KODA_DENY && w.reason == KODA_REASON_INVALID);
	}
	memset(long_path, '/', sizeof(long_path));
	assert_int_equal(koda_rules_read(rules, long_path, 4096).reason, KODA_REASON_INVALID);
	assert_int_equal(koda_rules_read(rules, long_path, 4095).reason, KODA_REASON_DEFAULT);
	/* The twin: spellings that mean a sound path are judged as that path. */
	assert_int_equal(koda_rules_write(rules, "//a/./b/", 8).answer, KODA_ALLOW);
	koda_rules_free(rules);
}

static void every_reason_has_a_name(void **state)
{
	(void)state;
	for (int reason = 0; reason < KODA_REASON_COUNT; reason++)
		assert_true(koda_reason_name((enum koda_reason)reason)[0] != '\0');
	assert_string_equal(koda_reason_name(KODA_REASON_DENY_READ), "fs.deny_read");
	assert_string_equal(koda_reason_name((enum koda_reason)99), "invalid");
}

static void a_relative_place_is_refused(void **state)
{
	struct koda_policy *policy = NULL;
	struct koda_rules *rules = NULL;
	struct koda_error err = { 0 };
	const struct koda_place bad = { .size = sizeof(bad), .root = "p" };

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
		cmocka_unit_test(every_reason_has_a_name),
		cmocka_unit_test(a_relative_place_is_refused),
	};

	return KODA_TEST_RUN(tests);
}
