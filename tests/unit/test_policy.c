/* SPDX-License-Identifier: MIT */
/* Policies as data: defaults, setters and getters, copies, equality and hashes. */
#include "koda_test.h"

#include "policy/policy.h"

static struct koda_policy *policy_new(void)
{
	struct koda_policy *policy = NULL;
	struct koda_error err = { 0 };

	KODA_ASSERT_OK(koda_policy_new(&policy, &err), err);
	assert_non_null(policy);
	return policy;
}

static void add(struct koda_policy *policy, enum koda_list list, const char *entry)
{
	struct koda_error err = { 0 };

	KODA_ASSERT_OK(koda_policy_add(policy, list, entry, strlen(entry), &err), err);
}

static void default_policy_is_empty_and_auto(void **state)
{
	koda_auto_policy struct koda_policy *policy = policy_new();
	uint64_t value = 42;

	(void)state;
	for (int list = 0; list < KODA_LIST_COUNT; list++)
		assert_int_equal(koda_policy_count(policy, (enum koda_list)list), 0);
	for (int flag = 0; flag < KODA_FLAG_COUNT; flag++)
		assert_false(koda_policy_flag(policy, (enum koda_flag)flag));
	for (int limit = 0; limit < KODA_LIMIT_POLICY_COUNT; limit++)
		assert_false(koda_policy_limit(policy, (enum koda_limit)limit, &value));
	assert_int_equal(value, 42);
	assert_false(koda_policy_has_allow_write(policy));
	assert_int_equal(koda_policy_ask(policy), KODA_ASK_AUTO);
	assert_null(koda_policy_ca_bundle(policy).ptr);
	assert_int_equal(koda_policy_socket_map_count(policy), 0);
	assert_true(koda_policy_has_network(policy));
}

static void strict_default_matches_default(void **state)
{
	koda_auto_policy struct koda_policy *built = policy_new();
	koda_auto_policy struct koda_policy *again = policy_new();
	koda_auto_policy struct koda_policy *decoded = NULL;
	struct koda_error err = { 0 };

	(void)state;
	KODA_ASSERT_OK(koda_policy_parse("{}", 2, &decoded, &err), err);
	assert_true(koda_policy_equal(built, again));
	assert_true(koda_policy_equal(built, decoded));
	assert_int_equal(koda_policy_hash(built), koda_policy_hash(decoded));
}

static void fs_policy_default_has_safe_baseline_depth(void **state)
{
	static const char *const texts[] = { "{}", "{\"fs\":{}}", "{\"fs\":{\"deny_read\":[]}}" };
	koda_auto_policy struct koda_policy *built = policy_new();

	(void)state;
	assert_int_equal(built->search_depth, 3);
	KODA_EACH(text, texts) {
		koda_auto_policy struct koda_policy *decoded = NULL;
		struct koda_error err = { 0 };

		KODA_ASSERT_OK(koda_policy_parse(*text, strlen(*text), &decoded, &err), err);
		KODA_EXPECT(*text, decoded->search_depth == 3);
	}
}

static void lists_are_ordered_sets_of_normal_forms(void **state)
{
	koda_auto_policy struct koda_policy *policy = policy_new();
	static const char *const spellings[] = { "/b", "/a/", "//a", "/./a", "/a/.", "/b//", "/" };
	static const char *const hosts[] = { "B.example.org", "a.example.org.", "b.example.org",
					     " A.EXAMPLE.ORG ", "2130706433:80" };

	(void)state;
	KODA_EACH(path, spellings)
		add(policy, KODA_LIST_DENY_READ, *path);
	assert_int_equal(koda_policy_count(policy, KODA_LIST_DENY_READ), 3);
	KODA_ASSERT_SPAN(koda_policy_get(policy, KODA_LIST_DENY_READ, 0), "/b");
	KODA_ASSERT_SPAN(koda_policy_get(policy, KODA_LIST_DENY_READ, 1), "/a");
	KODA_ASSERT_SPAN(koda_policy_get(policy, KODA_LIST_DENY_READ, 2), "/");
	assert_null(koda_policy_get(policy, KODA_LIST_DENY_READ, 3).ptr);
	KODA_EACH(host, hosts)
		add(policy, KODA_LIST_ALLOWED_DOMAINS, *host);
	assert_int_equal(koda_policy_count(policy, KODA_LIST_ALLOWED_DOMAINS), 3);
	KODA_ASSERT_SPAN(koda_policy_get(policy, KODA_LIST_ALLOWED_DOMAINS, 0), "b.example.org");
	KODA_ASSERT_SPAN(koda_policy_get(policy, KODA_LIST_ALLOWED_DOMAINS, 1), "a.example.org");
	KODA_ASSERT_SPAN(koda_policy_get(policy, KODA_LIST_ALLOWED_DOMAINS, 2), "127.0.0.1:80");
}

static void a_bad_entry_leaves_the_list_alone(void **state)
{
	static const struct {
		enum koda_list list;
		const char *entry;
		size_t len;
		int code;
	} rows[] = {
		{ KODA_LIST_DENY_READ, "", 0, KODA_E_POLICY },
		{ KODA_LIST_DENY_READ, "rel", 3, KODA_E_POLICY },
		{ KODA_LIST_DENY_READ, "/a/../b", 7, KODA_E_POLICY },
		{ KODA_LIST_DENY_READ, "/a\0b", 4, KODA_E_POLICY },
		{ KODA_LIST_ALLOW_WRITE, "~/x", 3, KODA_E_POLICY },
		{ KODA_LIST_ALLOWED_DOMAINS, "", 0, KODA_E_POLICY },
		{ KODA_LIST_ALLOWED_DOMAINS, "*", 1, KODA_E_POLICY },
		{ KODA_LIST_ALLOWED_DOMAINS, "*.com", 5, KODA_E_POLICY },
		{ KODA_LIST_ALLOWED_DOMAINS, "a.com\0", 6, KODA_E_POLICY },
		{ KODA_LIST_DENIED_DOMAINS, "a.com#public", 12, KODA_E_POLICY },
		{ KODA_LIST_COUNT, "/a", 2, KODA_E_INVALID },
		{ (enum koda_list) - 1, "/a", 2, KODA_E_INVALID },
	};
	koda_auto_policy struct koda_policy *policy = policy_new();
	koda_auto_policy struct koda_policy *fresh = policy_new();

	(void)state;
	KODA_EACH(row, rows) {
		struct koda_error err = { 0 };

		KODA_ASSERT_FAILS(row->code,
				  koda_policy_add(policy, row->list, row->entry, row->len, &err),
				  err);
		KODA_EXPECT(row->entry, koda_policy_add(policy, row->list, row->entry, row->len,
							NULL) == row->code);
		KODA_EXPECT(row->entry, koda_policy_equal(policy, fresh));
	}
	assert_int_equal(koda_policy_count(policy, KODA_LIST_COUNT), 0);
	assert_null(koda_policy_get(policy, KODA_LIST_COUNT, 0).ptr);
}

static void unset_allow_write_differs_from_empty(void **state)
{
	koda_auto_policy struct koda_policy *unset = policy_new();
	koda_auto_policy struct koda_policy *empty = policy_new();

	(void)state;
	koda_policy_state_allow_write(empty, true);
	assert_true(koda_policy_has_allow_write(empty));
	assert_int_equal(koda_policy_count(empty, KODA_LIST_ALLOW_WRITE), 0);
	assert_false(koda_policy_equal(unset, empty));
	add(empty, KODA_LIST_ALLOW_WRITE, "/w");
	koda_policy_state_allow_write(empty, true);
	assert_int_equal(koda_policy_count(empty, KODA_LIST_ALLOW_WRITE), 1);
	koda_policy_state_allow_write(empty, false);
	assert_int_equal(koda_policy_count(empty, KODA_LIST_ALLOW_WRITE), 0);
	assert_true(koda_policy_equal(unset, empty));
	add(unset, KODA_LIST_ALLOW_WRITE, "/w");
	assert_true(koda_policy_has_allow_write(unset));
}

static void limits_hold_any_value_up_to_the_maximum(void **state)
{
	static const uint64_t values[] = { 0, 1, UINT32_MAX, KODA_LIMIT_MAX };
	koda_auto_policy struct koda_policy *policy = policy_new();
	struct koda_error err = { 0 };
	uint64_t value = 7;

	(void)state;
	for (int limit = 0; limit < KODA_LIMIT_POLICY_COUNT; limit++) {
		enum koda_limit which = (enum koda_limit)limit;

		KODA_EACH(want, values) {
			KODA_ASSERT_OK(koda_policy_set_limit(policy, which, *want, &err), err);
			assert_true(koda_policy_limit(policy, which, &value));
			assert_true(value == *want);
		}
		KODA_ASSERT_FAILS(KODA_E_LIMIT,
				  koda_policy_set_limit(policy, which, UINT64_MAX, &err), err);
		KODA_ASSERT_FAILS(
			KODA_E_LIMIT,
			koda_policy_set_limit(policy, which, (uint64_t)KODA_LIMIT_MAX + 1, &err),
			err);
		assert_true(koda_policy_limit(policy, which, &value) && value == KODA_LIMIT_MAX);
		koda_policy_unset_limit(policy, which);
		assert_false(koda_policy_limit(policy, which, &value));
	}
	KODA_ASSERT_FAILS(KODA_E_INVALID,
			  koda_policy_set_limit(policy, KODA_LIMIT_POLICY_COUNT, 1, &err), err);
	assert_false(koda_policy_limit(policy, KODA_LIMIT_POLICY_COUNT, &value));
	koda_policy_unset_limit(policy, KODA_LIMIT_POLICY_COUNT);
}

static void numbers_from_nowhere_are_the_safe_value(void **state)
{
	koda_auto_policy struct koda_policy *policy = policy_new();
	koda_auto_policy struct koda_policy *fresh = policy_new();

	(void)state;
	koda_policy_set_flag(policy, KODA_FLAG_COUNT, true);
	koda_policy_set_flag(policy, (enum koda_flag) - 1, true);
	assert_true(koda_policy_equal(policy, fresh));
	assert_false(koda_policy_flag(policy, KODA_FLAG_COUNT));
	koda_policy_set_ask(policy, (enum koda_ask)3);
	assert_int_equal(koda_policy_ask(policy), KODA_ASK_FORBID);
	koda_policy_set_ask(policy, KODA_ASK_REQUIRE);
	assert_int_equal(koda_policy_ask(policy), KODA_ASK_REQUIRE);
	koda_policy_set_ask(policy, (enum koda_ask) - 1);
	assert_int_equal(koda_policy_ask(policy), KODA_ASK_FORBID);
}

static void a_star_in_denied_domains_means_no_network(void **state)
{
	static const struct {
		const char *denied;
		bool network;
	} rows[] = { { "*", false },
		     { " * ", false },
		     { "*:443", true },
		     { "*.com", true },
		     { "0.0.0.0/0", true } };

	(void)state;
	KODA_EACH(row, rows) {
		koda_auto_policy struct koda_policy *policy = policy_new();

		add(policy, KODA_LIST_ALLOWED_DOMAINS, "example.org");
		add(policy, KODA_LIST_DENIED_DOMAINS, row->denied);
		KODA_EXPECT(row->denied, koda_policy_has_network(policy) == row->network);
	}
}

static void socket_map_needs_a_bundle_and_maps_each_domain_once(void **state)
{
	koda_auto_policy struct koda_policy *policy = policy_new();
	struct koda_error err = { 0 };
	struct koda_span domain, path;

	(void)state;
	KODA_ASSERT_FAILS(KODA_E_INVALID, koda_policy_add_socket_map(policy, "a.org", "/s", &err),
			  err);
	KODA_ASSERT_FAILS(KODA_E_POLICY, koda_policy_set_ca_bundle(policy, "ca.pem", 6, &err), err);
	assert_null(koda_policy_ca_bundle(policy).ptr);
	KODA_ASSERT_OK(koda_policy_set_ca_bundle(policy, "/old", 4, &err), err);
	KODA_ASSERT_OK(koda_policy_set_ca_bundle(policy, "/etc//ca.pem", 12, &err), err);
	KODA_ASSERT_SPAN(koda_policy_ca_bundle(policy), "/etc/ca.pem");
	KODA_ASSERT_OK(koda_policy_add_socket_map(policy, "*.A.org", "/run/./s", &err), err);
	KODA_ASSERT_OK(koda_policy_add_socket_map(policy, "b.org", "/run/s", &err), err);
	KODA_ASSERT_FAILS(KODA_E_POLICY, koda_policy_add_socket_map(policy, "B.ORG.", "/t", &err),
			  err);
	KODA_ASSERT_FAILS(KODA_E_POLICY, koda_policy_add_socket_map(policy, "*", "/t", &err), err);
	KODA_ASSERT_FAILS(KODA_E_POLICY, koda_policy_add_socket_map(policy, "c.org", "t", &err),
			  err);
	assert_int_equal(koda_policy_socket_map_count(policy), 2);
	koda_policy_get_socket_map(policy, 0, &domain, &path);
	KODA_ASSERT_SPAN(domain, "*.a.org");
	KODA_ASSERT_SPAN(path, "/run/s");
	koda_policy_get_socket_map(policy, 2, &domain, &path);
	assert_null(domain.ptr);
	assert_null(path.ptr);
}

/* One way to change each field; the test below applies each to a copy. */
static void mutate(struct koda_policy *policy, size_t which)
{
	struct koda_error err = { 0 };

	if (which < KODA_LIST_COUNT) {
		bool paths = koda_list_is_paths((enum koda_list)which);

		add(policy, (enum koda_list)which, paths ? "/new" : "new.example.org");
	} else if ((which -= KODA_LIST_COUNT) < KODA_FLAG_COUNT) {
		koda_policy_set_flag(policy, (enum koda_flag)which, true);
	} else if ((which -= KODA_FLAG_COUNT) < KODA_LIMIT_POLICY_COUNT) {
		KODA_ASSERT_OK(koda_policy_set_limit(policy, (enum koda_limit)which, 0, &err), err);
	} else if ((which -= KODA_LIMIT_POLICY_COUNT) == 0) {
		koda_policy_set_search_depth(policy, 4);
	} else if (which == 1) {
		koda_policy_set_ask(policy, KODA_ASK_REQUIRE);
	} else if (which == 2) {
		koda_policy_state_allow_write(policy, true);
	} else if (which == 3) {
		KODA_ASSERT_OK(koda_policy_set_ca_bundle(policy, "/ca", 3, &err), err);
	} else {
		KODA_ASSERT_OK(koda_policy_set_ca_bundle(policy, "/ca", 3, &err), err);
		KODA_ASSERT_OK(
			koda_policy_add_socket_map(policy, "a.org", which == 4 ? "/s" : "/t", &err),
			err);
	}
}

#define MUTATIONS (KODA_LIST_COUNT + KODA_FLAG_COUNT + KODA_LIMIT_POLICY_COUNT + 6)

static void copy_and_equality_and_hash_see_every_field(void **state)
{
	struct koda_policy *variant[MUTATIONS + 1];
	struct koda_error err = { 0 };

	(void)state;
	for (size_t i = 0; i <= MUTATIONS; i++) {
		koda_auto_policy struct koda_policy *copy = NULL;

		variant[i] = policy_new();
		if (i < MUTATIONS)
			mutate(variant[i], i);
		KODA_ASSERT_OK(koda_policy_copy(variant[i], &copy, &err), err);
		assert_true(koda_policy_equal(variant[i], copy));
		assert_true(koda_policy_equal(copy, variant[i]));
		assert_true(koda_policy_hash(copy) == koda_policy_hash(variant[i]));
		for (size_t j = 0; j < i; j++) {
			assert_false(koda_policy_equal(variant[i], variant[j]));
			assert_false(koda_policy_equal(variant[j], variant[i]));
			assert_true(koda_policy_hash(variant[i]) != koda_policy_hash(variant[j]));
		}
	}
	for (size_t i = 0; i <= MUTATIONS; i++)
		koda_policy_free(variant[i]);
}

static void a_copy_is_independent(void **state)
{
	koda_auto_policy struct koda_policy *policy = policy_new();
	koda_auto_policy struct koda_policy *copy = NULL;
	struct koda_error err = { 0 };

	(void)state;
	/* All but the last: it maps the same domain as the one before. */
	for (size_t i = 0; i < MUTATIONS - 1; i++)
		mutate(policy, i);
	KODA_ASSERT_OK(koda_policy_copy(policy, &copy, &err), err);
	add(policy, KODA_LIST_DENY_READ, "/later");
	assert_int_equal(koda_policy_count(copy, KODA_LIST_DENY_READ), 1);
	add(copy, KODA_LIST_DENY_READ, "/later");
	assert_true(koda_policy_equal(policy, copy));
	add(copy, KODA_LIST_DENY_READ, "/last");
	assert_false(koda_policy_equal(policy, copy));
}

/* Order and the boundaries between entries count. */
static void near_equal_lists_differ(void **state)
{
	static const char *const lists[][3] = { { "/a", "/b", NULL },
						{ "/b", "/a", NULL },
						{ "/a/b", NULL },
						{ "/a", NULL },
						{ NULL } };
	struct koda_policy *variant[sizeof(lists) / sizeof(lists[0])];
	size_t count = 0;

	(void)state;
	KODA_EACH(list, lists) {
		variant[count] = policy_new();
		for (const char *const *path = *list; *path; path++)
			add(variant[count], KODA_LIST_DENY_READ, *path);
		for (size_t i = 0; i < count; i++) {
			assert_false(koda_policy_equal(variant[i], variant[count]));
			assert_true(koda_policy_hash(variant[i]) !=
				    koda_policy_hash(variant[count]));
		}
		count++;
	}
	while (count > 0)
		koda_policy_free(variant[--count]);
	koda_policy_free(NULL);
}

static void search_depth_has_a_floor_and_a_ceiling(void **state)
{
	static const struct {
		uint8_t stated;
		uint8_t holds;
	} rows[] = { { 0, 8 },   { 3, 8 },   { 7, 8 },   { 8, 8 },   { 9, 9 },
		     { 10, 10 }, { 39, 39 }, { 40, 40 }, { 41, 40 }, { 255, 40 } };
	koda_auto_policy struct koda_policy *policy = NULL;
	struct koda_error err = { 0 };

	(void)state;
	KODA_ASSERT_OK(koda_policy_new(&policy, &err), err);
	assert_int_equal(koda_policy_search_depth(policy), 8);
	KODA_EACH(row, rows) {
		koda_policy_set_search_depth(policy, row->stated);
		assert_int_equal(koda_policy_search_depth(policy), row->holds);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(search_depth_has_a_floor_and_a_ceiling),
		cmocka_unit_test(default_policy_is_empty_and_auto),
		cmocka_unit_test(strict_default_matches_default),
		cmocka_unit_test(fs_policy_default_has_safe_baseline_depth),
		cmocka_unit_test(lists_are_ordered_sets_of_normal_forms),
		cmocka_unit_test(a_bad_entry_leaves_the_list_alone),
		cmocka_unit_test(unset_allow_write_differs_from_empty),
		cmocka_unit_test(limits_hold_any_value_up_to_the_maximum),
		cmocka_unit_test(numbers_from_nowhere_are_the_safe_value),
		cmocka_unit_test(a_star_in_denied_domains_means_no_network),
		cmocka_unit_test(socket_map_needs_a_bundle_and_maps_each_domain_once),
		cmocka_unit_test(copy_and_equality_and_hash_see_every_field),
		cmocka_unit_test(a_copy_is_independent),
		cmocka_unit_test(near_equal_lists_differ),
	};

	return KODA_TEST_RUN(tests);
}
