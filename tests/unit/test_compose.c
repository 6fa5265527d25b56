/* SPDX-License-Identifier: MIT */
/* T-02 composition by example: one row of the compose table per test. */
#include "koda_test.h"

#include "policy/policy.h"

/* A policy from JSON in which ' stands for ". */
static struct koda_policy *policy_of(const char *text)
{
	struct koda_policy *policy = NULL;
	struct koda_error err = { 0 };
	char *json = strdup(text);

	assert_non_null(json);
	for (char *c = json; *c; c++)
		if (*c == '\'')
			*c = '"';
	KODA_ASSERT_OK(koda_policy_parse(json, strlen(json), &policy, &err), err);
	free(json);
	return policy;
}

static void check(const char *parent_text, const char *child_text, const char *want_text)
{
	struct koda_policy *parent = policy_of(parent_text);
	struct koda_policy *child = policy_of(child_text);
	struct koda_policy *want = policy_of(want_text);
	struct koda_policy *got = NULL;
	struct koda_error err = { 0 };

	KODA_ASSERT_OK(koda_policy_compose(parent, child, &got, &err), err);
	if (!koda_policy_equal(got, want)) {
		char *text = NULL;

		KODA_ASSERT_OK(koda_policy_emit(got, &text, &err), err);
		fail_msg("%s and %s give\n%s", parent_text, child_text, text);
	}
	koda_policy_free(parent);
	koda_policy_free(child);
	koda_policy_free(want);
	koda_policy_free(got);
}

#define FS(body)  "{'fs':{" body "}}"
#define NET(body) "{'net':{" body "}}"

static void compose_with_default_child_is_identity_for_parent_denies(void **state)
{
	const char *parent = "{'fs':{'deny_read':['/etc/shadow'],'allow_write':['/code'],"
			     "'allow_git_config':true,'mandatory_deny_search_depth':1},"
			     "'net':{'allow_local_binding':true,'allowed_domains':['localhost']}}";

	(void)state;
	check(parent, "{}", parent);
}

static void compose_unions_denies_so_child_can_add_restrictions(void **state)
{
	(void)state;
	check(FS("'deny_read':['/etc/shadow']"), FS("'deny_read':['/etc/passwd']"),
	      FS("'deny_read':['/etc/shadow','/etc/passwd']"));
}

static void compose_union_dedupes_overlapping_denies(void **state)
{
	(void)state;
	check(FS("'deny_read':['/a','/b']"), FS("'deny_read':['/b','/c']"),
	      FS("'deny_read':['/a','/b','/c']"));
	check(NET("'denied_domains':['a.com','b.com']"), NET("'denied_domains':['B.COM','c.com']"),
	      NET("'denied_domains':['a.com','b.com','c.com']"));
	check(FS("'deny_write_within_allow':['/a']"), FS("'deny_write_within_allow':['/b/','/a']"),
	      FS("'deny_write_within_allow':['/a','/b']"));
}

static void compose_drops_child_allow_writes_so_child_cannot_widen(void **state)
{
	(void)state;
	check(FS("'allow_write':['/code']"), FS("'allow_write':['/etc','/code']"),
	      FS("'allow_write':['/code']"));
	/* A parent that states nothing writable has nothing to share. */
	check("{}", FS("'allow_write':['/etc']"), FS("'allow_write':[]"));
	check(FS("'allow_write':[]"), FS("'allow_write':['/etc']"), FS("'allow_write':[]"));
}

static void a_child_narrows_what_is_writable(void **state)
{
	(void)state;
	check(FS("'allow_write':['/code','/tmp/x']"), FS("'allow_write':['/code/a','/tmp']"),
	      FS("'allow_write':['/tmp/x','/code/a']"));
	check(FS("'allow_write':['/code']"), FS("'allow_write':[]"), FS("'allow_write':[]"));
	check(FS("'allow_write':['/code']"), FS("'allow_write':null"),
	      FS("'allow_write':['/code']"));
	check("{}", "{}", FS("'allow_write':null"));
}

static void a_hole_stays_open_only_if_every_side_that_denies_has_it(void **state)
{
	(void)state;
	/* The child cannot re-open what the parent denies. */
	check(FS("'deny_read':['/s']"), FS("'allow_read_within_deny':['/s/x']"),
	      FS("'deny_read':['/s']"));
	check(FS("'deny_read':['/s'],'allow_read_within_deny':['/s/x']"), FS("'deny_read':['/s']"),
	      FS("'deny_read':['/s']"));
	/* Both have it, or one of them does not deny there. */
	check(FS("'deny_read':['/s'],'allow_read_within_deny':['/s/x']"),
	      FS("'deny_read':['/s'],'allow_read_within_deny':['/s/x']"),
	      FS("'deny_read':['/s'],'allow_read_within_deny':['/s/x']"));
	check(FS("'deny_read':['/s'],'allow_read_within_deny':['/s/x']"), FS("'deny_read':['/t']"),
	      FS("'deny_read':['/s','/t'],'allow_read_within_deny':['/s/x']"));
	/* A deeper hole inside the other side's hole. */
	check(FS("'deny_read':['/s'],'allow_read_within_deny':['/s/x']"),
	      FS("'deny_read':['/s'],'allow_read_within_deny':['/s/x/y']"),
	      FS("'deny_read':['/s'],'allow_read_within_deny':['/s/x/y']"));
}

static void compose_allow_git_config_is_logical_and(void **state)
{
	(void)state;
	check(FS("'allow_git_config':true"), FS("'allow_git_config':true"),
	      FS("'allow_git_config':true"));
	check(FS("'allow_git_config':true"), FS("'allow_git_config':false"), "{}");
	check(FS("'allow_git_config':false"), FS("'allow_git_config':true"), "{}");
	check(FS("'allow_git_config':false"), FS("'allow_git_config':false"), "{}");
	/* Not stated: nothing granted by a parent, nothing taken by a child. */
	check("{}", FS("'allow_git_config':true"), "{}");
	check(FS("'allow_git_config':true"), "{}", FS("'allow_git_config':true"));
	check(NET("'allow_local_binding':true,'weaker_macos_isolation':true"),
	      NET("'allow_local_binding':false"), NET("'weaker_macos_isolation':true"));
}

static void compose_limits_take_minimum_with_none_meaning_unlimited(void **state)
{
	(void)state;
	check("{'limits':{'cpu_time_secs':60,'wall_time_secs':5,'max_open_fds':7}}",
	      "{'limits':{'cpu_time_secs':30,'max_rss_bytes':9,'max_open_fds':8}}",
	      "{'limits':{'cpu_time_secs':30,'wall_time_secs':5,'max_rss_bytes':9,'max_open_fds':7}"
	      "}");
	check("{'limits':{'cpu_time_secs':0}}", "{'limits':{'cpu_time_secs':null}}",
	      "{'limits':{'cpu_time_secs':0}}");
}

static void compose_trust_picks_strictest(void **state)
{
	static const char *const order[] = { "forbid", "require", "auto" };

	(void)state;
	for (size_t a = 0; a < 3; a++) {
		for (size_t b = 0; b < 3; b++) {
			char parent[32];
			char child[32];
			char want[32];

			(void)snprintf(parent, sizeof(parent), "{'trust':'%s'}", order[a]);
			(void)snprintf(child, sizeof(child), "{'trust':'%s'}", order[b]);
			(void)snprintf(want, sizeof(want), "{'trust':'%s'}", order[a < b ? a : b]);
			check(parent, child, want);
		}
	}
}

static void compose_mitm_inherited_from_parent_only(void **state)
{
	const char *mitm = NET("'mitm':{'ca_bundle':'/c.pem','socket_map':[['a.com','/run/a']]}");

	(void)state;
	check(mitm, "{}", mitm);
	check("{}", mitm, "{}");
	check(mitm, NET("'mitm':{'ca_bundle':'/evil.pem'}"), mitm);
}

static void compose_takes_max_mandatory_deny_search_depth(void **state)
{
	(void)state;
	check(FS("'mandatory_deny_search_depth':4"), FS("'mandatory_deny_search_depth':9"),
	      FS("'mandatory_deny_search_depth':9"));
}

static void compose_keeps_parent_depth_when_child_is_shallower(void **state)
{
	(void)state;
	check(FS("'mandatory_deny_search_depth':9"), FS("'mandatory_deny_search_depth':4"),
	      FS("'mandatory_deny_search_depth':9"));
	check(FS("'mandatory_deny_search_depth':1"), "{}", FS("'mandatory_deny_search_depth':1"));
}

static void allowed_domains_intersect_by_host_and_port(void **state)
{
	static const struct {
		const char *parent;
		const char *child;
		const char *want;
	} rows[] = {
		{ "'*.a.com'", "'x.a.com:443'", "'x.a.com:443#public'" },
		{ "'a.com'", "'a.com:443'", "'a.com:443'" },
		{ "'a.com:443'", "'a.com'", "'a.com:443'" },
		{ "'*.a.com:443'", "'x.a.com'", "'x.a.com:443#public'" },
		{ "'x.a.com'", "'*.a.com:443'", "'x.a.com:443#public'" },
		{ "'*.a.com'", "'*.b.a.com'", "'*.b.a.com'" },
		{ "'8.0.0.0/8:53'", "'8.8.8.8'", "'8.8.8.8:53'" },
		{ "'10.0.0.0/8'", "'10.1.0.0/16'", "'10.1.0.0/16'" },
		{ "'a.com','b.com'", "'b.com','c.com'", "'b.com'" },
	};

	(void)state;
	KODA_EACH(row, rows) {
		char parent[128];
		char child[128];
		char want[128];

		(void)snprintf(parent, sizeof(parent), NET("'allowed_domains':[%s]"), row->parent);
		(void)snprintf(child, sizeof(child), NET("'allowed_domains':[%s]"), row->child);
		(void)snprintf(want, sizeof(want), NET("'allowed_domains':[%s]"), row->want);
		check(parent, child, want);
	}
}

static void nothing_in_common_means_no_network(void **state)
{
	const char *none = NET("'denied_domains':['*']");

	(void)state;
	check(NET("'allowed_domains':['a.com']"), NET("'allowed_domains':['b.com']"), none);
	check(NET("'allowed_domains':['a.com:443']"), NET("'allowed_domains':['a.com:80']"), none);
	check(NET("'allowed_domains':['a.com']"), NET("'allowed_domains':['*.a.com']"), none);
}

/* A child's list must not lift the guard that the parent keeps up. */
static void a_child_cannot_list_its_way_to_local_addresses(void **state)
{
	const char *none = NET("'denied_domains':['*']");

	(void)state;
	check("{}", NET("'allowed_domains':['localhost','a.com:443']"),
	      NET("'allowed_domains':['localhost#public','a.com:443#public']"));
	check("{}", NET("'allowed_domains':['127.0.0.1']"), none);
	check("{}", NET("'allowed_domains':['8.8.8.8','*.a.com']"),
	      NET("'allowed_domains':['8.8.8.8','*.a.com']"));
	check(NET("'allowed_domains':['0.0.0.0/0']"), NET("'allowed_domains':['10.0.0.0/8']"),
	      none);
	check(NET("'allowed_domains':['169.254.0.0/16']"),
	      NET("'allowed_domains':['169.254.169.254']"), none);
	/* The twin: what both list stays listed. */
	check(NET("'allowed_domains':['localhost']"), NET("'allowed_domains':['localhost']"),
	      NET("'allowed_domains':['localhost']"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(compose_with_default_child_is_identity_for_parent_denies),
		cmocka_unit_test(compose_unions_denies_so_child_can_add_restrictions),
		cmocka_unit_test(compose_union_dedupes_overlapping_denies),
		cmocka_unit_test(compose_drops_child_allow_writes_so_child_cannot_widen),
		cmocka_unit_test(a_child_narrows_what_is_writable),
		cmocka_unit_test(a_hole_stays_open_only_if_every_side_that_denies_has_it),
		cmocka_unit_test(compose_allow_git_config_is_logical_and),
		cmocka_unit_test(compose_limits_take_minimum_with_none_meaning_unlimited),
		cmocka_unit_test(compose_trust_picks_strictest),
		cmocka_unit_test(compose_mitm_inherited_from_parent_only),
		cmocka_unit_test(compose_takes_max_mandatory_deny_search_depth),
		cmocka_unit_test(compose_keeps_parent_depth_when_child_is_shallower),
		cmocka_unit_test(allowed_domains_intersect_by_host_and_port),
		cmocka_unit_test(nothing_in_common_means_no_network),
		cmocka_unit_test(a_child_cannot_list_its_way_to_local_addresses),
	};

	return KODA_TEST_RUN(tests);
}
