/* SPDX-License-Identifier: MIT */
/* T-119. What a profile cannot hold is refused, and leaves nothing in the output. */
#include "koda_test.h"

#include "base/buf.h"
#include "plan/seatbelt.h"
#include "policy/policy.h"

#define ROOT "/w/p"

struct given {
	struct koda_policy *policy;
	struct koda_rules *rules;
	struct koda_seatbelt seatbelt;
};

static struct given given(enum koda_list list, const char *path)
{
	const struct koda_place place = { .size = sizeof(place), .root = ROOT, .home = "/h" };
	struct koda_error err = { 0 };
	struct given g = { 0 };

	KODA_ASSERT_OK(koda_policy_new(&g.policy, &err), err);
	KODA_ASSERT_OK(koda_policy_add(g.policy, KODA_LIST_ALLOW_WRITE, ROOT, strlen(ROOT), &err),
		       err);
	if (path)
		KODA_ASSERT_OK(koda_policy_add(g.policy, list, path, strlen(path), &err), err);
	KODA_ASSERT_OK(koda_rules_new(g.policy, &place, &g.rules, &err), err);
	g.seatbelt.rules = g.rules;
	g.seatbelt.policy = g.policy;
	return g;
}

static void drop(struct given *g)
{
	koda_rules_free(g->rules);
	koda_policy_free(g->policy);
}

static void expect(struct given g, int code, const char *field)
{
	koda_auto_buf struct koda_buf out = KODA_BUF_INIT(KODA_SEATBELT_MAX);
	struct koda_error err = { 0 };

	assert_int_equal(koda_seatbelt_print(&g.seatbelt, &out, &err), code);
	assert_int_equal(out.len > 0, code == KODA_OK);
	if (field)
		assert_string_equal(err.field, field);
	drop(&g);
}

static void paths_that_macos_cannot_have(void **state)
{
	char path[KODA_SEATBELT_PATH_MAX + 3];

	(void)state;
	for (size_t i = 0; i < sizeof(path); i++)
		path[i] = i % 100 == 0 ? '/' : 'x';
	path[KODA_SEATBELT_PATH_MAX] = '\0';
	expect(given(KODA_LIST_DENY_READ, path), KODA_OK, NULL);
	path[KODA_SEATBELT_PATH_MAX] = 'x';
	path[KODA_SEATBELT_PATH_MAX + 1] = '\0';
	expect(given(KODA_LIST_DENY_READ, path), KODA_E_LIMIT, NULL);
	expect(given(KODA_LIST_ALLOW_WRITE, path), KODA_E_LIMIT, NULL);
}

static void whole_machines(void **state)
{
	(void)state;
	expect(given(KODA_LIST_ALLOW_WRITE, "/"), KODA_E_DENIED, "fs.allow_write");
	expect(given(KODA_LIST_DENY_READ, "/"), KODA_E_DENIED, "fs.deny_read");
}

static void temporary_directories(void **state)
{
	static const char *const refused[] = {
		"/",         "/w",          "/w/p",      "/w/p/.git/hooks", "/h/.ssh",
		"/h/.ssh/x", "/h/secret/t", "/h/secret", "/h/.config",      "/t/../u",
		"/t//u",     "t",           ""
	};
	struct given good = given(KODA_LIST_DENY_READ, "/h/secret");

	(void)state;
	good.seatbelt.tmpdir = "/h/t";
	expect(good, KODA_OK, NULL);
	for (size_t i = 0; i < KODA_ARRAY_LEN(refused); i++) {
		koda_auto_buf struct koda_buf out = KODA_BUF_INIT(KODA_SEATBELT_MAX);
		struct given g = given(KODA_LIST_DENY_READ, "/h/secret");
		struct koda_error err = { 0 };

		g.seatbelt.tmpdir = refused[i];
		assert_true(koda_seatbelt_print(&g.seatbelt, &out, &err) < 0);
		assert_int_equal(out.len, 0);
		drop(&g);
	}
}

static void networks(void **state)
{
	struct given closed = given(KODA_LIST_DENIED_DOMAINS, "*");
	struct given no_port = given(KODA_LIST_DENY_READ, NULL);

	(void)state;
	closed.seatbelt.net = KODA_SEATBELT_OPEN;
	expect(closed, KODA_E_DENIED, "net.denied_domains");
	no_port.seatbelt.net = KODA_SEATBELT_PROXIED;
	expect(no_port, KODA_E_INVALID, "proxy port");
}

static void tags(void **state)
{
	static const char *const refused[] = { "", "a b", "a\"", "a\\", "\xc3\xa9", "a\n" };
	char longest[KODA_SEATBELT_TAG_MAX + 2];

	(void)state;
	memset(longest, 'a', sizeof(longest));
	longest[KODA_SEATBELT_TAG_MAX + 1] = '\0';
	for (size_t i = 0; i <= KODA_ARRAY_LEN(refused); i++) {
		struct given g = given(KODA_LIST_DENY_READ, NULL);

		g.seatbelt.tag = i < KODA_ARRAY_LEN(refused) ? refused[i] : longest;
		expect(g, KODA_E_INVALID, "tag");
	}
}

/* A buffer that is too small for the profile is left as it was. */
static void full_buffers(void **state)
{
	koda_auto_buf struct koda_buf out = KODA_BUF_INIT(1000);
	struct given g = given(KODA_LIST_DENY_READ, NULL);
	struct koda_error err = { 0 };

	(void)state;
	assert_int_equal(koda_buf_add(&out, "before", 6), KODA_OK);
	assert_int_equal(koda_seatbelt_print(&g.seatbelt, &out, &err), KODA_E_LIMIT);
	assert_int_equal(out.len, 6);
	drop(&g);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(paths_that_macos_cannot_have),
		cmocka_unit_test(whole_machines),
		cmocka_unit_test(temporary_directories),
		cmocka_unit_test(networks),
		cmocka_unit_test(tags),
		cmocka_unit_test(full_buffers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
