/* SPDX-License-Identifier: MIT */
/* T-119. A profile of the cache is the one that would be rendered now, and few are kept. */
#include "koda_test.h"

#include "base/buf.h"
#include "plan/seatbelt_cache.h"
#include "policy/policy.h"

#include <koda/trust.h>
#include <stdio.h>

#define ROOT "/w/p"
#define HOME "/h"

static const char *const listed[] = { "/x/listed", NULL };
static const struct koda_place place = { .size = sizeof(place), .root = ROOT, .home = HOME };

struct given {
	struct koda_policy *policy;
	struct koda_seatbelt request;
	struct koda_seatbelt_cache cache;
};

static int setup(void **state)
{
	static struct given g;
	struct koda_error err = { 0 };

	g = (struct given){ 0 };
	KODA_ASSERT_OK(koda_policy_for_trust(KODA_TRUST_SAFE, ROOT, &g.policy, &err), err);
	g.request.policy = g.policy;
	*state = &g;
	return 0;
}

static int teardown(void **state)
{
	struct given *g = *state;

	koda_seatbelt_cache_clear(&g->cache);
	koda_policy_free(g->policy);
	return 0;
}

/* Returns a profile of the cache; with the request's tag. Owned by the caller. */
static char *get(struct given *g, const struct koda_place *at)
{
	koda_auto_buf struct koda_buf out = KODA_BUF_INIT(KODA_SEATBELT_MAX);
	const struct koda_seatbelt_entry *entry = NULL;
	struct koda_error err = { 0 };
	char *text = NULL;

	KODA_ASSERT_OK(koda_seatbelt_cache_get(&g->cache, &g->request, at, &entry, &err), err);
	KODA_ASSERT_OK(koda_seatbelt_entry_print(entry, g->request.tag, &out, &err), err);
	KODA_ASSERT_OK(koda_buf_take(&out, &text), err);
	return text;
}

/* Returns the profile of the same request without a cache. Owned by the caller. */
static char *render(const struct given *g, const struct koda_place *at)
{
	koda_auto_buf struct koda_buf out = KODA_BUF_INIT(KODA_SEATBELT_MAX);
	struct koda_seatbelt request = g->request;
	struct koda_rules *rules = NULL;
	struct koda_error err = { 0 };
	char *text = NULL;

	KODA_ASSERT_OK(koda_rules_new(request.policy, at, &rules, &err), err);
	request.rules = rules;
	KODA_ASSERT_OK(koda_seatbelt_print(&request, &out, &err), err);
	KODA_ASSERT_OK(koda_buf_take(&out, &text), err);
	koda_rules_free(rules);
	return text;
}

/* Asks twice: misses tells how many profiles were rendered so far, and both are as without cache.
 */
static void expect(struct given *g, const struct koda_place *at, uint64_t misses)
{
	for (int i = 0; i < 2; i++) {
		koda_auto_free char *text = get(g, at);
		koda_auto_free char *fresh = render(g, at);

		assert_int_equal(g->cache.misses, misses);
		assert_string_equal(text, fresh);
	}
}

static void build_runs_exactly_once_per_unique_key(void **state)
{
	struct given *g = *state;
	struct koda_policy *copy = NULL;
	struct koda_place elsewhere = place;
	char root[] = ROOT;
	struct koda_error err = { 0 };

	expect(g, &place, 1);
	/* Equal values at other addresses are one key. */
	elsewhere.root = root;
	KODA_ASSERT_OK(koda_policy_copy(g->policy, &copy, &err), err);
	g->request.policy = copy;
	expect(g, &elsewhere, 1);
	koda_policy_free(copy);
}

/* Also for a text that moves from one fact to its neighbour. */
static void distinct_keys_get_distinct_profiles(void **state)
{
	static const char *const names[] = { "/x/a", "/x/b", NULL };
	static const char *const first[] = { "/x/a", NULL };
	static const char *const second[] = { "/x/b", NULL };
	struct given *g = *state;
	const struct koda_place places[] = {
		{ .size = sizeof(place), .root = ROOT, .home = HOME },
		{ .size = sizeof(place), .root = ROOT, .home = "/g" },
		{ .size = sizeof(place), .root = ROOT, .config_home = HOME },
		{ .size = sizeof(place), .root = ROOT, .state_home = HOME },
		{ .size = sizeof(place), .root = ROOT, .runtime_dir = HOME },
		{ .size = sizeof(place), .root = ROOT, .exec_dirs = names },
		{ .size = sizeof(place), .root = ROOT, .exec_dirs = first, .git_dirs = second },
		{ .size = sizeof(place), .root = ROOT, .git_dirs = names },
	};

	for (size_t i = 0; i < KODA_ARRAY_LEN(places); i++)
		expect(g, &places[i], i + 1);
	assert_int_equal(g->cache.count, KODA_ARRAY_LEN(places));
}

/* A protected path that appears, or becomes a link, is another list of the place. */
static void place_change_invalidates_cache(void **state)
{
	static const size_t lists[] = {
		offsetof(struct koda_place, exec_dirs),
		offsetof(struct koda_place, git_dirs),
		offsetof(struct koda_place, git_files),
		offsetof(struct koda_place, missing_dirs),
		offsetof(struct koda_place, readonly_aliases),
		offsetof(struct koda_place, hidden),
		offsetof(struct koda_place, own_git_dirs),
		offsetof(struct koda_place, caches),
	};
	struct given *g = *state;

	expect(g, &place, 1);
	for (size_t i = 0; i < KODA_ARRAY_LEN(lists); i++) {
		struct koda_place other = place;
		const char *const *list = listed;

		memcpy((char *)&other + lists[i], &list, sizeof(list));
		expect(g, &place, i + 1);
		expect(g, &other, i + 2);
	}
}

static void proxy_change_invalidates_cache(void **state)
{
	struct given *g = *state;

	expect(g, &place, 1);
	g->request.net = KODA_SEATBELT_PROXIED;
	g->request.port = 1;
	expect(g, &place, 2);
	g->request.port = 2;
	expect(g, &place, 3);
	g->request.tmpdir = "/t";
	expect(g, &place, 4);
}

static void proxy_and_open_profiles_do_not_share_cache_entry(void **state)
{
	struct given *g = *state;
	koda_auto_free char *proxied = NULL;
	koda_auto_free char *open = NULL;

	g->request.net = KODA_SEATBELT_PROXIED;
	g->request.port = 3128;
	proxied = get(g, &place);
	g->request.net = KODA_SEATBELT_OPEN;
	open = get(g, &place);
	assert_null(strstr(proxied, "\"*:*\""));
	assert_non_null(strstr(open, "\"*:*\""));
}

static void policy_change_invalidates_cache(void **state)
{
	struct given *g = *state;
	struct koda_error err = { 0 };
	uint64_t misses = 1;

	expect(g, &place, misses);
	for (int list = 0; list < KODA_LIST_COUNT; list++) {
		const char *entry = koda_list_is_paths((enum koda_list)list) ? "/x/y" : "x.example";

		KODA_ASSERT_OK(koda_policy_add(g->policy, (enum koda_list)list, entry,
					       strlen(entry), &err),
			       err);
		expect(g, &place, ++misses);
	}
	KODA_ASSERT_OK(koda_policy_set_limit(g->policy, KODA_LIMIT_WALL_TIME, 7, &err), err);
	expect(g, &place, ++misses);
	koda_policy_set_ask(g->policy, KODA_ASK_FORBID);
	expect(g, &place, ++misses);
}

static void weaker_isolation_flag_change_invalidates_cache(void **state)
{
	struct given *g = *state;

	expect(g, &place, 1);
	koda_policy_set_flag(g->policy, KODA_FLAG_WEAKER_MACOS_ISOLATION, true);
	expect(g, &place, 2);
}

static void clear_resets_the_cache(void **state)
{
	struct given *g = *state;

	expect(g, &place, 1);
	koda_seatbelt_cache_clear(&g->cache);
	assert_int_equal(g->cache.count, 0);
	assert_int_equal(g->cache.bytes, 0);
	expect(g, &place, 2);
}

static void cached_profile_still_includes_credential_denies(void **state)
{
	struct given *g = *state;
	koda_auto_free char *first = get(g, &place);
	koda_auto_free char *second = get(g, &place);

	assert_non_null(strstr(second, "(deny file-write* (subpath \"" HOME "/.ssh\"))"));
	assert_string_equal(first, second);
}

/* Commands have a tag each, and one profile. */
static void tags_share_a_profile(void **state)
{
	struct given *g = *state;

	g->request.tag = "koda-1";
	expect(g, &place, 1);
	g->request.tag = "koda-22";
	expect(g, &place, 1);
	g->request.tag = NULL;
	expect(g, &place, 2);
}

static void bad_tags(void **state)
{
	koda_auto_buf struct koda_buf out = KODA_BUF_INIT(KODA_SEATBELT_MAX);
	const struct koda_seatbelt_entry *entry = NULL;
	struct given *g = *state;
	struct koda_error err = { 0 };

	g->request.tag = "a";
	KODA_ASSERT_OK(koda_seatbelt_cache_get(&g->cache, &g->request, &place, &entry, &err), err);
	assert_int_equal(koda_seatbelt_entry_print(entry, "a\"", &out, &err), KODA_E_INVALID);
	assert_int_equal(out.len, 0);
}

static void failures_are_not_kept(void **state)
{
	const struct koda_seatbelt_entry *entry = NULL;
	const struct koda_place nowhere = { .size = sizeof(nowhere), .root = "" };
	struct given *g = *state;
	struct koda_error err = { 0 };

	g->request.tmpdir = "/";
	assert_true(koda_seatbelt_cache_get(&g->cache, &g->request, &place, &entry, &err) < 0);
	g->request.tmpdir = NULL;
	assert_true(koda_seatbelt_cache_get(&g->cache, &g->request, &nowhere, &entry, &err) < 0);
	assert_int_equal(g->cache.count, 0);
	assert_int_equal(g->cache.misses, 0);
	assert_null(entry);
}

/* The profile that was not used for longest goes first. */
static void few_are_kept(void **state)
{
	struct given *g = *state;

	g->request.net = KODA_SEATBELT_PROXIED;
	for (uint16_t port = 1; port <= 100; port++) {
		koda_auto_free char *first = NULL;
		koda_auto_free char *text = NULL;

		g->request.port = 1;
		first = get(g, &place);
		g->request.port = port;
		text = get(g, &place);
		assert_true(g->cache.count <= KODA_SEATBELT_CACHE_MAX);
		assert_int_equal(g->cache.misses, port);
	}
	g->request.port = 2;
	free(get(g, &place));
	assert_int_equal(g->cache.misses, 101);
}

/* Texts of 300 KiB: six of them are 1.8 MiB. */
static void few_bytes_are_kept(void **state)
{
	struct given *g = *state;
	struct koda_error err = { 0 };
	char path[600];

	for (int i = 0; i < 500; i++) {
		(void)snprintf(path, sizeof(path), "/%0200d/%0200d/%0140d", i, i, i);
		KODA_ASSERT_OK(
			koda_policy_add(g->policy, KODA_LIST_DENY_READ, path, strlen(path), &err),
			err);
	}
	g->request.net = KODA_SEATBELT_PROXIED;
	for (uint16_t port = 1; port <= 10; port++) {
		g->request.port = port;
		free(get(g, &place));
		assert_true(g->cache.count >= 1 && g->cache.bytes > 300 * 1024);
		assert_true(g->cache.bytes <= KODA_SEATBELT_CACHE_BYTES);
	}
	assert_true(g->cache.count < KODA_SEATBELT_CACHE_MAX);
}

#define CACHE_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		CACHE_TEST(build_runs_exactly_once_per_unique_key),
		CACHE_TEST(distinct_keys_get_distinct_profiles),
		CACHE_TEST(place_change_invalidates_cache),
		CACHE_TEST(proxy_change_invalidates_cache),
		CACHE_TEST(proxy_and_open_profiles_do_not_share_cache_entry),
		CACHE_TEST(policy_change_invalidates_cache),
		CACHE_TEST(weaker_isolation_flag_change_invalidates_cache),
		CACHE_TEST(clear_resets_the_cache),
		CACHE_TEST(cached_profile_still_includes_credential_denies),
		CACHE_TEST(tags_share_a_profile),
		CACHE_TEST(bad_tags),
		CACHE_TEST(failures_are_not_kept),
		CACHE_TEST(few_are_kept),
		CACHE_TEST(few_bytes_are_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
