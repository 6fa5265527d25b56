/* SPDX-License-Identifier: MIT */
/* T-24 which package caches a user has, and where a project's copies are kept. */
#include "koda_test.h"

#include "../lib/scratch.h"
#include "run/project/cache.h"
#include "run/project/site.h"

/* Loads a site with HOME, and XDG_STATE_HOME unless it is NULL, below the scratch directory. */
static void load(struct koda_site *site, const char *dir, const char *root, const char *state_home)
{
	koda_auto_buf struct koda_buf home = KODA_BUF_INIT(8192);
	koda_auto_buf struct koda_buf state = KODA_BUF_INIT(8192);
	const char *env[] = { NULL, "PATH=/no/such/bin", NULL, NULL };
	struct koda_error err = { 0 };

	assert_int_equal(koda_buf_addf(&home, "HOME=%s/home", dir), KODA_OK);
	env[0] = home.ptr;
	if (state_home) {
		assert_int_equal(koda_buf_addf(&state, "XDG_STATE_HOME=%s/%s", dir, state_home),
				 KODA_OK);
		env[2] = state.ptr;
	}
	KODA_ASSERT_OK(koda_site_load(site, koda_in(dir, root), env, &err), err);
}

static bool has(const struct koda_site *site, const char *dir, const char *name)
{
	return koda_strv_has(&site->caches, koda_in(dir, name));
}

static void real_directories_are_caches(void **state)
{
	koda_auto_site struct koda_site site = KODA_SITE_INIT;
	koda_auto_free char *store = NULL;
	struct koda_error err = { 0 };

	(void)koda_make_dir(*state, "home");
	(void)koda_make_dir(*state, "project");
	(void)koda_make_dir(*state, "home/.cache");
	(void)koda_make_dir(*state, "home/.npm"); /* without _cacache */
	(void)koda_make_dir(*state, "elsewhere");
	(void)koda_make_dir(*state, "elsewhere/registry");
	(void)koda_make_link(*state, "home/.cargo", "../elsewhere");
	load(&site, *state, "project", NULL);
	assert_int_equal(site.caches.len, 1);
	assert_true(has(&site, *state, "home/.cache"));
	KODA_ASSERT_OK(koda_cache_store(&site, &store, &err), err);
	assert_memory_equal(store, koda_in(*state, "home/.local/state/koda/caches/=%2f"),
			    strlen(koda_in(*state, "home/.local/state/koda/caches/=%2f")));
}

static void no_caches_no_store(void **state)
{
	koda_auto_site struct koda_site site = KODA_SITE_INIT;
	koda_auto_free char *store = NULL;
	struct koda_error err = { 0 };

	(void)koda_make_dir(*state, "home");
	(void)koda_make_dir(*state, "project");
	(void)koda_make_file(*state, "home/.cache", "");
	load(&site, *state, "project", NULL);
	assert_int_equal(site.caches.len, 0);
	KODA_ASSERT_OK(koda_cache_store(&site, &store, &err), err);
	assert_null(store);
}

/* Neither around the project nor in it, and not around its own copy. */
static void a_cache_does_not_overlap(void **state)
{
	koda_auto_site struct koda_site in_cache = KODA_SITE_INIT;
	koda_auto_site struct koda_site state_in_cache = KODA_SITE_INIT;

	(void)koda_make_dir(*state, "home");
	(void)koda_make_dir(*state, "project");
	(void)koda_make_dir(*state, "home/.cache");
	(void)koda_make_dir(*state, "home/.cache/project");
	load(&in_cache, *state, "home/.cache/project", NULL);
	assert_int_equal(in_cache.caches.len, 0);
	load(&state_in_cache, *state, "project", "home/.cache/state");
	assert_int_equal(state_in_cache.caches.len, 0);
}

/* No two projects share a copy, whatever their paths are. */
static void stores_differ(void **state)
{
	static const char *const roots[] = { "a", "a%2fb", "a/b", "a%", "a%25", "=a", "+a" };
	char longest[4 * 201 + 1] = "";
	koda_auto_strv struct koda_strv seen = KODA_STRV_INIT;
	struct koda_error err = { 0 };

	(void)koda_make_dir(*state, "home");
	(void)koda_make_dir(*state, "home/.cache");
	(void)koda_make_dir(*state, "home/a");
	for (size_t i = 0; i <= KODA_ARRAY_LEN(roots); i++) {
		koda_auto_site struct koda_site site = KODA_SITE_INIT;
		koda_auto_free char *store = NULL;

		if (i == KODA_ARRAY_LEN(roots)) {
			/* Too long for one name. */
			for (size_t k = 0; k < sizeof(longest) - 1; k++)
				longest[k] = k % 201 == 200 && k < sizeof(longest) - 2 ? '/' : 'x';
			load(&site, *state, longest, NULL);
		} else {
			load(&site, koda_in(*state, ""), koda_in("home", roots[i]), NULL);
		}
		KODA_ASSERT_OK(koda_cache_store(&site, &store, &err), err);
		assert_non_null(store);
		assert_false(koda_strv_has(&seen, store));
		KODA_ASSERT_OK(koda_strv_add(&seen, store, &err), err);
		for (const char *name = store; (name = strchr(name, '/')); name++)
			assert_true(strcspn(name + 1, "/") <= 255);
	}
	assert_non_null(strstr(seen.items[seen.len - 1], "/caches/+"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		KODA_SCRATCH_TEST(real_directories_are_caches),
		KODA_SCRATCH_TEST(no_caches_no_store),
		KODA_SCRATCH_TEST(a_cache_does_not_overlap),
		KODA_SCRATCH_TEST(stores_differ),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
