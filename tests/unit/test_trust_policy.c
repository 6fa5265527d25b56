/* SPDX-License-Identifier: MIT */
/* What each trust mode turns into: the policy field by field, and the limits beside it. */
#include "koda_test.h"

#include "policy/policy.h"

#include <koda/rules.h>
#include <koda/trust.h>
#include <unistd.h>

static const char *const developer_patterns[] = {
	"github.com:443",
	"github.com:80",
	"github.com:22",
	"ssh.github.com:443",
	"api.github.com:443",
	"api.github.com:80",
	"codeload.github.com:443",
	"codeload.github.com:80",
	"*.githubusercontent.com:443",
	"*.githubusercontent.com:80",
	"github-cloud.s3.amazonaws.com:443",
	"ghcr.io:443",
	"gitlab.com:443",
	"gitlab.com:80",
	"gitlab.com:22",
	"altssh.gitlab.com:443",
	"registry.gitlab.com:443",
	"bitbucket.org:443",
	"bitbucket.org:80",
	"bitbucket.org:22",
	"altssh.bitbucket.org:443",
	"api.bitbucket.org:443",
	"bbuseruploads.s3.amazonaws.com:443",
	"api.media.atlassian.com:443",
	"codeberg.org:443",
	"codeberg.org:22",
	"registry.npmjs.org:443",
	"registry.npmjs.org:80",
	"*.npmjs.org:443",
	"*.npmjs.org:80",
	"registry.yarnpkg.com:443",
	"repo.yarnpkg.com:443",
	"nodejs.org:443",
	"jsr.io:443",
	"npm.jsr.io:443",
	"deno.land:443",
	"cdn.playwright.dev:443",
	"playwright.download.prss.microsoft.com:443",
	"pypi.org:443",
	"pypi.org:80",
	"*.pypi.org:443",
	"*.pypi.org:80",
	"files.pythonhosted.org:443",
	"files.pythonhosted.org:80",
	"bootstrap.pypa.io:443",
	"conda.anaconda.org:443",
	"repo.anaconda.com:443",
	"crates.io:443",
	"crates.io:80",
	"static.crates.io:443",
	"static.crates.io:80",
	"index.crates.io:443",
	"index.crates.io:80",
	"static.rust-lang.org:443",
	"proxy.golang.org:443",
	"sum.golang.org:443",
	"go.dev:443",
	"dl.google.com:443",
	"repo.maven.apache.org:443",
	"repo1.maven.org:443",
	"plugins.gradle.org:443",
	"plugins-artifacts.gradle.org:443",
	"services.gradle.org:443",
	"downloads.gradle.org:443",
	"maven.google.com:443",
	"rubygems.org:443",
	"index.rubygems.org:443",
	"repo.packagist.org:443",
	"packagist.org:443",
	"api.nuget.org:443",
	"hex.pm:443",
	"repo.hex.pm:443",
	"builds.hex.pm:443",
	"www.cpan.org:443",
	"cpan.metacpan.org:443",
	"fastapi.metacpan.org:443",
	"hackage.haskell.org:443",
	"pub.dev:443",
	"registry-1.docker.io:443",
	"registry-1.docker.io:80",
	"auth.docker.io:443",
	"auth.docker.io:80",
	"*.docker.io:443",
	"*.docker.io:80",
	"production.cloudflare.docker.com:443",
};

static struct koda_policy *policy_for(enum koda_trust trust, const char *root)
{
	struct koda_policy *policy = NULL;
	struct koda_error err = { 0 };

	KODA_ASSERT_OK(koda_policy_for_trust(trust, root, &policy, &err), err);
	assert_non_null(policy);
	return policy;
}

static void expect_limit(const struct koda_policy *policy, enum koda_limit limit, uint64_t want)
{
	uint64_t value = 0;

	assert_true(koda_policy_limit(policy, limit, &value));
	assert_true(value == want);
}

/* What all three modes share. */
static void expect_common(const struct koda_policy *policy)
{
	uint64_t pages = (uint64_t)sysconf(_SC_PHYS_PAGES);
	uint64_t value = 0;

	assert_int_equal(koda_policy_count(policy, KODA_LIST_DENY_READ), 0);
	assert_int_equal(koda_policy_count(policy, KODA_LIST_ALLOW_READ_WITHIN_DENY), 0);
	assert_int_equal(koda_policy_count(policy, KODA_LIST_DENY_WRITE_WITHIN_ALLOW), 0);
	assert_true(koda_policy_has_allow_write(policy));
	assert_false(koda_policy_flag(policy, KODA_FLAG_ALLOW_GIT_CONFIG));
	assert_false(koda_policy_flag(policy, KODA_FLAG_WEAKER_MACOS_ISOLATION));
	assert_null(koda_policy_ca_bundle(policy).ptr);
	assert_false(koda_policy_limit(policy, KODA_LIMIT_CPU_TIME, &value));
	expect_limit(policy, KODA_LIMIT_WALL_TIME, 60);
	expect_limit(policy, KODA_LIMIT_OUTPUT, 2 * 1024 * 1024);
	expect_limit(policy, KODA_LIMIT_MEMORY, pages * (uint64_t)sysconf(_SC_PAGESIZE) / 4 * 3);
}

static void plan_looks_and_does_not_touch(void **state)
{
	koda_auto_policy struct koda_policy *policy = policy_for(KODA_TRUST_PLAN, "/p");

	(void)state;
	expect_common(policy);
	assert_int_equal(koda_policy_count(policy, KODA_LIST_ALLOW_WRITE), 0);
	assert_int_equal(koda_policy_count(policy, KODA_LIST_ALLOWED_DOMAINS), 0);
	assert_int_equal(koda_policy_count(policy, KODA_LIST_DENIED_DOMAINS), 1);
	KODA_ASSERT_SPAN(koda_policy_get(policy, KODA_LIST_DENIED_DOMAINS, 0), "*");
	assert_false(koda_policy_has_network(policy));
	assert_false(koda_policy_flag(policy, KODA_FLAG_ALLOW_LOCAL_BINDING));
	assert_int_equal(policy->search_depth, 3);
	assert_int_equal(koda_policy_ask(policy), KODA_ASK_AUTO);
	expect_limit(policy, KODA_LIMIT_OPEN_FILES, 4096);
}

static void safe_and_auto_work_in_the_project(void **state)
{
	static const struct {
		enum koda_trust trust;
		uint8_t depth;
		enum koda_ask ask;
	} rows[] = { { KODA_TRUST_SAFE, 5, KODA_ASK_REQUIRE },
		     { KODA_TRUST_AUTO, 10, KODA_ASK_AUTO } };

	(void)state;
	KODA_EACH(row, rows) {
		koda_auto_policy struct koda_policy *policy = policy_for(row->trust, "/p");

		expect_common(policy);
		assert_int_equal(koda_policy_count(policy, KODA_LIST_ALLOW_WRITE), 1);
		KODA_ASSERT_SPAN(koda_policy_get(policy, KODA_LIST_ALLOW_WRITE, 0), "/p");
		assert_true(koda_policy_has_network(policy));
		assert_int_equal(koda_policy_count(policy, KODA_LIST_DENIED_DOMAINS), 0);
		assert_true(koda_policy_flag(policy, KODA_FLAG_ALLOW_LOCAL_BINDING));
		assert_int_equal(policy->search_depth, row->depth);
		assert_int_equal(koda_policy_ask(policy), row->ask);
		expect_limit(policy, KODA_LIMIT_OPEN_FILES, 16384);
	}
}

static void the_developer_list_is_exactly_this(void **state)
{
	const size_t count = sizeof(developer_patterns) / sizeof(developer_patterns[0]);

	(void)state;
	for (int trust = KODA_TRUST_SAFE; trust <= KODA_TRUST_AUTO; trust++) {
		koda_auto_policy struct koda_policy *policy =
			policy_for((enum koda_trust)trust, "/p");

		assert_int_equal(koda_policy_count(policy, KODA_LIST_ALLOWED_DOMAINS), count);
		for (size_t i = 0; i < count; i++)
			KODA_ASSERT_SPAN(koda_policy_get(policy, KODA_LIST_ALLOWED_DOMAINS, i),
					 developer_patterns[i]);
	}
}

/* The table is taken as it is spelt; so would anybody's entry be. */
static void the_developer_list_is_spelt_as_policies_keep_it(void **state)
{
	koda_auto_policy struct koda_policy *table = policy_for(KODA_TRUST_AUTO, "/p");
	koda_auto_policy struct koda_policy *copy = NULL;
	struct koda_error err = { 0 };

	(void)state;
	KODA_ASSERT_OK(koda_policy_new(&copy, &err), err);
	for (size_t i = 0; i < koda_policy_count(table, KODA_LIST_ALLOWED_DOMAINS); i++) {
		struct koda_span entry = koda_policy_get(table, KODA_LIST_ALLOWED_DOMAINS, i);

		KODA_ASSERT_OK(koda_policy_add(copy, KODA_LIST_ALLOWED_DOMAINS, entry.ptr,
					       entry.len, &err),
			       err);
		KODA_ASSERT_SPAN(koda_policy_get(copy, KODA_LIST_ALLOWED_DOMAINS, i), entry.ptr);
	}
}

/* The same through the verdicts: each host with its ports, and the twins that stay closed. */
static void developer_hosts_are_reachable_on_their_ports(void **state)
{
	static const struct {
		const char *host;
		uint16_t port;
		bool allowed;
	} rows[] = {
		{ "github.com", 443, true },
		{ "github.com", 80, true },
		{ "github.com", 22, true },
		{ "GitHub.com.", 443, true },
		{ "github.com", 8443, false },
		{ "github.com", 9418, false },
		{ "api.github.com", 443, true },
		{ "api.github.com", 22, false },
		{ "gist.github.com", 443, false },
		{ "gitlab.com", 22, true },
		{ "altssh.gitlab.com", 443, true },
		{ "altssh.gitlab.com", 22, false },
		{ "bitbucket.org", 22, true },
		{ "proxy.golang.org", 443, true },
		{ "proxy.golang.org", 80, false },
		{ "sum.golang.org", 443, true },
		{ "repo1.maven.org", 443, true },
		{ "index.rubygems.org", 443, true },
		{ "registry.yarnpkg.com", 443, true },
		{ "nodejs.org", 443, true },
		{ "storage.googleapis.com", 443, false },
		{ "s3.amazonaws.com", 443, false },
		{ "evil.s3.amazonaws.com", 443, false },
		{ "raw.githubusercontent.com", 443, true },
		{ "a.b.githubusercontent.com", 443, true },
		{ "githubusercontent.com", 443, false },
		{ "registry.npmjs.org", 443, true },
		{ "npmjs.org", 443, false },
		{ "pypi.org", 443, true },
		{ "pypi.org", 22, false },
		{ "files.pythonhosted.org", 443, true },
		{ "evil.pythonhosted.org", 443, false },
		{ "index.crates.io", 80, true },
		{ "a.crates.io", 443, false },
		{ "auth.docker.io", 443, true },
		{ "example.org", 443, false },
		{ "github.com.evil.org", 443, false },
		{ "1.1.1.1", 443, false },
		{ "127.0.0.1", 443, false },
		{ "169.254.169.254", 80, false },
	};
	koda_auto_policy struct koda_policy *policy = policy_for(KODA_TRUST_AUTO, "/p");
	static const struct koda_place place = { .size = sizeof(place),
						 .root = "/p",
						 .home = "/home/u" };
	struct koda_rules *rules = NULL;
	struct koda_error err = { 0 };

	(void)state;
	KODA_ASSERT_OK(koda_rules_new(policy, &place, &rules, &err), err);
	KODA_EACH(row, rows) {
		struct koda_verdict verdict =
			koda_rules_connect(rules, row->host, strlen(row->host), row->port);

		if ((verdict.answer == KODA_ALLOW) != row->allowed)
			fail_msg("%s:%u is %s", row->host, row->port,
				 row->allowed ? "denied" : "allowed");
	}
	koda_rules_free(rules);
}

/* The root is text: it need not exist, and is stored in normal form. */
static void a_root_need_not_exist_but_must_be_absolute(void **state)
{
	static const char *const bad[] = { "", ".", "p", "./p", "~/p", "/a/../p", ".." };
	char name[400] = "/";

	(void)state;
	memset(name + 1, 'a', 300);
	for (int i = 0; i <= KODA_TRUST_AUTO; i++) {
		enum koda_trust trust = (enum koda_trust)i;
		koda_auto_policy struct koda_policy *policy =
			policy_for(trust, "//no/such/./place-at-all/");
		struct koda_policy *none = NULL;
		struct koda_error err = { 0 };

		if (trust != KODA_TRUST_PLAN)
			KODA_ASSERT_SPAN(koda_policy_get(policy, KODA_LIST_ALLOW_WRITE, 0),
					 "/no/such/place-at-all");
		KODA_EACH(root, bad)
			KODA_ASSERT_FAILS(KODA_E_POLICY,
					  koda_policy_for_trust(trust, *root, &none, &err), err);
		KODA_ASSERT_FAILS(KODA_E_POLICY, koda_policy_for_trust(trust, name, &none, &err),
				  err);
		assert_null(none);
	}
}

static void a_mode_from_nowhere_is_plan(void **state)
{
	koda_auto_policy struct koda_policy *plan = policy_for(KODA_TRUST_PLAN, "/p");
	koda_auto_policy struct koda_policy *high = policy_for((enum koda_trust)3, "/p");
	koda_auto_policy struct koda_policy *low = policy_for((enum koda_trust) - 1, "/p");

	(void)state;
	assert_true(koda_policy_equal(plan, high));
	assert_true(koda_policy_equal(plan, low));
	assert_true(koda_trust_limits((enum koda_trust)3).max_processes ==
		    koda_trust_limits(KODA_TRUST_PLAN).max_processes);
}

static void limits_beside_the_policy(void **state)
{
	static const uint64_t gib = 1024ULL * 1024 * 1024;
	static const struct {
		enum koda_trust trust;
		uint64_t processes;
		uint64_t file_gib;
	} rows[] = { { KODA_TRUST_PLAN, 512, 8 },
		     { KODA_TRUST_SAFE, 2048, 64 },
		     { KODA_TRUST_AUTO, 2048, 64 } };

	(void)state;
	KODA_EACH(row, rows) {
		struct koda_trust_limits limits = koda_trust_limits(row->trust);

		assert_true(limits.max_processes == row->processes);
		assert_true(limits.max_file_bytes == row->file_gib * gib);
		assert_true(limits.max_core_bytes == 0);
		assert_true(limits.wall_time_ceiling_secs == 300);
	}
}

/* A sub-agent of a narrower mode never gains by composition, and order does not matter for what
 * is writable. */
static void composing_modes_gives_the_narrower_one(void **state)
{
	koda_auto_policy struct koda_policy *plan = policy_for(KODA_TRUST_PLAN, "/p");
	koda_auto_policy struct koda_policy *wide = policy_for(KODA_TRUST_AUTO, "/p");
	koda_auto_policy struct koda_policy *both = NULL;
	struct koda_error err = { 0 };

	(void)state;
	KODA_ASSERT_OK(koda_policy_compose(wide, plan, &both, &err), err);
	assert_true(koda_policy_has_allow_write(both));
	assert_int_equal(koda_policy_count(both, KODA_LIST_ALLOW_WRITE), 0);
	assert_false(koda_policy_has_network(both));
	assert_false(koda_policy_flag(both, KODA_FLAG_ALLOW_LOCAL_BINDING));
	assert_int_equal(koda_policy_search_depth(both), 10);
	expect_limit(both, KODA_LIMIT_OPEN_FILES, 4096);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plan_looks_and_does_not_touch),
		cmocka_unit_test(safe_and_auto_work_in_the_project),
		cmocka_unit_test(the_developer_list_is_exactly_this),
		cmocka_unit_test(the_developer_list_is_spelt_as_policies_keep_it),
		cmocka_unit_test(developer_hosts_are_reachable_on_their_ports),
		cmocka_unit_test(a_root_need_not_exist_but_must_be_absolute),
		cmocka_unit_test(a_mode_from_nowhere_is_plan),
		cmocka_unit_test(limits_beside_the_policy),
		cmocka_unit_test(composing_modes_gives_the_narrower_one),
	};

	return KODA_TEST_RUN(tests);
}
