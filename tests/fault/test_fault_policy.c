/* SPDX-License-Identifier: MIT */
/* The public entry points of policies, rules and environments when memory runs out. */
#include "../lib/exhaust.h"

#include <koda/env.h>
#include <koda/hint.h>
#include <koda/policy.h>
#include <koda/rules.h>
#include <koda/trust.h>

/* Every kind of field, strings longer than a parser's first buffer, escapes, a path that is not
 * UTF-8, an international name. */
static const char text[] =
	"{ \"fs\": { \"deny_read\": [\"/etc/shadow\", "
	"\"/home/user/\\u00e9l\\u00e8ve/\\\"quoted\\\"\","
	"\"%/bytes/%FF%FE-and-a-rather-long-name-after-them\"],"
	"\"allow_read_within_deny\": [\"/home/user/project/with/a/long/path/that/needs/room\"],"
	"\"allow_write\": [\"/code/project\", \"/code/project/sub\"],"
	"\"deny_write_within_allow\": [\"/code/project/.git\"], \"allow_git_config\": true,"
	"\"mandatory_deny_search_depth\": 5 },"
	"\"net\": { \"allowed_domains\": [\"example.com:443\", \"*.example.org\","
	"\"b\\u00fccher.example\", \"xn--bcher-kva.example:8080\", \"10.0.0.0/8\", "
	"\"[2001:db8::1]:22\"],"
	"\"denied_domains\": [\"evil.example\", \"*.tracker.example\", \"192.0.2.7\"],"
	"\"allow_local_binding\": true, \"mitm\": { \"ca_bundle\": \"/etc/ssl/koda/ca-bundle.pem\","
	"\"socket_map\": [[\"a.example\", \"/run/a.sock\"], [\"*.b.example\", \"/run/b.sock\"]] } "
	"},"
	"\"limits\": { \"cpu_time_secs\": 60, \"max_rss_bytes\": 1073741824, \"wall_time_secs\": "
	"null },"
	"\"trust\": \"require\" }\n";

static const char other_text[] =
	"{ \"fs\": { \"deny_read\": [\"/home/user\"], \"allow_write\": [\"/code\", \"/data\"],"
	"\"allow_read_within_deny\": [\"/home/user/project/with\"] },"
	"\"net\": { \"allowed_domains\": [\"*.example.com\", \"a.example.org:443\", "
	"\"10.1.0.0/16\","
	"\"example.com\"], \"denied_domains\": [\"other.example\"] } }";

/* An international name as it is typed. */
#define BOOKS "b\xc3\xbc\x63her.example"

static struct koda_policy *policy;
static struct koda_policy *other;
static struct koda_rules *hint_rules; /* of other */

static const struct koda_place place = {
	.size = sizeof(place),
	.root = "/code/project",
	.home = "/home/user",
	.config_home = "/home/user/.config",
	.state_home = "/home/user/.local/state",
	.runtime_dir = "/run/user/1000",
	.exec_dirs = (const char *const[]){ "/usr/bin", "/home/user/bin", NULL },
	.git_dirs = (const char *const[]){ "/code/project/nested/.git", NULL },
	.git_files = (const char *const[]){ "/code/project/tree/.git", NULL },
};

static int load(void **state)
{
	(void)state;
	return koda_policy_parse(text, strlen(text), &policy, NULL) < 0 ||
	       koda_policy_parse(other_text, strlen(other_text), &other, NULL) < 0 ||
	       koda_rules_new(other, &place, &hint_rules, NULL) < 0;
}

static int unload(void **state)
{
	(void)state;
	koda_policy_free(policy);
	koda_policy_free(other);
	koda_rules_free(hint_rules);
	return 0;
}

static void release_policy(void *ret)
{
	koda_policy_free(ret);
}

static void release_rules(void *ret)
{
	koda_rules_free(ret);
}

static void release_env(void *ret)
{
	koda_env_free(ret);
}

static bool same_policy(const void *ret, const void *undisturbed)
{
	return koda_policy_equal(ret, undisturbed);
}

static bool same_text(const void *ret, const void *undisturbed)
{
	return strcmp(ret, undisturbed) == 0;
}

static bool same_env(const void *ret, const void *undisturbed)
{
	char *const *a = ret;
	char *const *b = undisturbed;

	while (*a && *b && strcmp(*a, *b) == 0) {
		a++;
		b++;
	}
	return !*a && !*b;
}

static bool same_rules(const void *ret, const void *undisturbed)
{
	static const char *const paths[] = { "/etc/shadow", "/code/project/x", "/home/user/.ssh/id",
					     "/code/project/.git/config", "/usr/bin/x" };
	static const char *const hosts[] = { "example.com",  "x.example.org",
					     "evil.example", "xn--bcher-kva.example",
					     "10.1.2.3",     "192.0.2.7" };
	bool same = true;

	KODA_EACH(path, paths) {
		size_t len = strlen(*path);

		same = same && koda_rules_read(ret, *path, len).reason ==
				       koda_rules_read(undisturbed, *path, len).reason;
		same = same && koda_rules_write(ret, *path, len).reason ==
				       koda_rules_write(undisturbed, *path, len).reason;
	}
	KODA_EACH(host, hosts) {
		size_t len = strlen(*host);

		same = same && koda_rules_connect(ret, *host, len, 443).reason ==
				       koda_rules_connect(undisturbed, *host, len, 443).reason;
	}
	return same;
}

static int make_new(void **ret, struct koda_error *err)
{
	return koda_policy_new((struct koda_policy **)ret, err);
}

static int parse(void **ret, struct koda_error *err)
{
	return koda_policy_parse(text, strlen(text), (struct koda_policy **)ret, err);
}

static int emit(void **ret, struct koda_error *err)
{
	return koda_policy_emit(policy, (char **)ret, err);
}

static int copy(void **ret, struct koda_error *err)
{
	return koda_policy_copy(policy, (struct koda_policy **)ret, err);
}

static int compose(void **ret, struct koda_error *err)
{
	return koda_policy_compose(policy, other, (struct koda_policy **)ret, err);
}

static int compile(void **ret, struct koda_error *err)
{
	return koda_rules_new(policy, &place, (struct koda_rules **)ret, err);
}

static int for_plan(void **ret, struct koda_error *err)
{
	return koda_policy_for_trust(KODA_TRUST_PLAN, "/code", (struct koda_policy **)ret, err);
}

static int for_safe(void **ret, struct koda_error *err)
{
	return koda_policy_for_trust(KODA_TRUST_SAFE, "/code", (struct koda_policy **)ret, err);
}

static int for_auto(void **ret, struct koda_error *err)
{
	return koda_policy_for_trust(KODA_TRUST_AUTO, "/code", (struct koda_policy **)ret, err);
}

static int build_env(void **ret, struct koda_error *err)
{
	static const char *const host[] = { "HOME=/home/user",
					    "PATH=/usr/bin:/bin",
					    "LANG=C.UTF-8",
					    "GIT_DIR=/code/.git",
					    "TMP=/x",
					    "TEMP=/y",
					    "X=z",
					    NULL };
	const struct koda_env_request request = {
		.size = sizeof(request),
		.host = host,
		.command = "/usr/bin/git status",
		.cwd = "/code/project",
		.network = true,
		.ca_bundle = true,
	};

	return koda_env_build(&request, (char ***)ret, err);
}

static int hint_path(void **ret, struct koda_error *err)
{
	static const char path[] = "/home/user/secret";
	char *hint = NULL;
	int r = koda_hint_path(hint_rules, KODA_VIOLATION_FILE_WRITE, path, sizeof(path) - 1, &hint,
			       err);

	if (r == KODA_OK)
		*ret = hint;
	return r;
}

static int hint_connect(void **ret, struct koda_error *err)
{
	char *hint = NULL;
	int r = koda_hint_connect(policy, "evil.example", strlen("evil.example"), 443, NULL, &hint,
				  err);

	if (r == KODA_OK)
		*ret = hint;
	return r;
}

static int hint_apply(void **ret, struct koda_error *err)
{
	static const char hint[] = "{\"fs\":{\"allow_write\":[\"/srv/out\"]},\"remove\":{\"net\":{"
				   "\"denied_domains\":[\"evil.example\"]}}}";

	return koda_hint_apply(policy, hint, sizeof(hint) - 1, (struct koda_policy **)ret, err);
}

static const struct koda_exhaust entries[] = {
	{ "koda_hint_path", hint_path, same_text, free, false },
	{ "koda_hint_connect", hint_connect, same_text, free, false },
	{ "koda_hint_apply", hint_apply, same_policy, release_policy, true },
	{ "koda_policy_new", make_new, same_policy, release_policy },
	{ "koda_policy_parse", parse, same_policy, release_policy, true },
	{ "koda_policy_parse, memory comes back", parse, same_policy, release_policy },
	{ "koda_policy_emit", emit, same_text, free },
	{ "koda_policy_copy", copy, same_policy, release_policy },
	{ "koda_policy_compose", compose, same_policy, release_policy },
	{ "koda_rules_new", compile, same_rules, release_rules },
	{ "koda_policy_for_trust plan", for_plan, same_policy, release_policy },
	{ "koda_policy_for_trust safe", for_safe, same_policy, release_policy },
	{ "koda_policy_for_trust auto", for_auto, same_policy, release_policy },
	{ "koda_env_build", build_env, same_env, release_env },
};

/* Adding to a policy that exists already: it must stay what it was. */
static void a_failed_add_leaves_the_policy_as_it_was(void **state)
{
	static const struct {
		enum koda_list list;
		const char *entry;
		const char *canonical;
	} rows[] = {
		{ KODA_LIST_DENY_READ, "/some/new/path", "/some/new/path" },
		{ KODA_LIST_ALLOW_WRITE, "/another//new/path/", "/another/new/path" },
		{ KODA_LIST_ALLOWED_DOMAINS, "New.Example:443", "new.example:443" },
		{ KODA_LIST_ALLOWED_DOMAINS, BOOKS, "xn--bcher-kva.example" },
		{ KODA_LIST_DENIED_DOMAINS, "2001:DB8::/32", "2001:db8::/32" },
	};

	(void)state;
	KODA_EACH(row, rows) {
		bool failed = true;

		for (size_t n = 1; failed && n < KODA_EXHAUST_MAX; n++) {
			struct koda_policy *target = NULL;
			struct koda_error err = { 0 };
			int r;

			assert_int_equal(koda_policy_new(&target, &err), KODA_OK);
			koda_alloc_arm(n, KODA_ALLOC_ONCE);
			r = koda_policy_add(target, row->list, row->entry, strlen(row->entry),
					    &err);
			failed = koda_alloc_disarm();
			if (r == KODA_OK) {
				KODA_ASSERT_SPAN(koda_policy_get(target, row->list, 0),
						 row->canonical);
			} else {
				KODA_EXPECT(row->entry, failed && r == KODA_E_NOMEM);
				KODA_EXPECT(row->entry, koda_policy_count(target, row->list) == 0);
				KODA_EXPECT(row->entry, !koda_policy_has_allow_write(target));
			}
			koda_policy_free(target);
		}
		KODA_EXPECT(row->entry, !failed);
	}
}

static void verdicts_allocate_nothing(void **state)
{
	struct koda_rules *rules = NULL;
	struct koda_error err = { 0 };

	(void)state;
	KODA_ASSERT_OK(koda_rules_new(policy, &place, &rules, &err), err);
	koda_alloc_arm(1, KODA_ALLOC_DRY);
	assert_int_equal(koda_rules_read(rules, "/etc/shadow", 11).answer, KODA_DENY);
	assert_int_equal(koda_rules_read(rules, "/etc/passwd", 11).answer, KODA_ALLOW);
	assert_int_equal(koda_rules_write(rules, "/code/project/x", 15).answer, KODA_ALLOW);
	assert_int_equal(koda_rules_connect(rules, "example.com", 11, 443).answer, KODA_ALLOW);
	assert_int_equal(koda_rules_connect(rules, "10.1.2.3", 8, 443).answer, KODA_ALLOW);
	assert_int_equal(koda_alloc_count(), 0);
	assert_false(koda_alloc_disarm());
	koda_rules_free(rules);
}

/* Only the library for international names allocates; without memory the name is denied. */
static void a_name_that_cannot_be_canonicalised_is_denied(void **state)
{
	struct koda_rules *rules = NULL;
	struct koda_error err = { 0 };
	bool failed = true;
	int denied = 0;

	(void)state;
	KODA_ASSERT_OK(koda_rules_new(policy, &place, &rules, &err), err);
	assert_int_equal(koda_rules_connect(rules, BOOKS, strlen(BOOKS), 443).answer, KODA_ALLOW);
	for (size_t n = 1; failed && n < KODA_EXHAUST_MAX; n++) {
		struct koda_verdict verdict;

		koda_alloc_arm(n, KODA_ALLOC_DRY);
		verdict = koda_rules_connect(rules, BOOKS, strlen(BOOKS), 443);
		failed = koda_alloc_disarm();
		denied += verdict.answer == KODA_DENY;
		/* Allowed for the right reason or not at all. */
		assert_int_equal(verdict.reason, verdict.answer == KODA_DENY
							 ? KODA_REASON_INVALID
							 : KODA_REASON_HOST_ALLOWED);
	}
	assert_false(failed);
	assert_true(denied > 0);
	koda_rules_free(rules);
}

#define ENTRIES (sizeof(entries) / sizeof(entries[0]))

int main(void)
{
	struct CMUnitTest tests[ENTRIES + 4] = {
		cmocka_unit_test(a_failed_add_leaves_the_policy_as_it_was),
		cmocka_unit_test(verdicts_allocate_nothing),
		cmocka_unit_test(a_name_that_cannot_be_canonicalised_is_denied),
	};

	for (size_t i = 0; i < ENTRIES; i++)
		tests[4 + i] = KODA_EXHAUST_TEST(&entries[i]);
	return cmocka_run_group_tests(tests, load, unload);
}
