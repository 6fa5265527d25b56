/* SPDX-License-Identifier: MIT */
/* What is known not to be there. */
#include "koda_test.h"

#include "../lib/scratch.h"
#include "base/buf.h"
#include "run/project/missing.h"

static bool covers(const struct koda_missing *gap, const char *dir, const char *name)
{
	return koda_missing_covers(gap, koda_span_of(koda_in(dir, name)));
}

static void look(struct koda_missing *gap, const char *dir, const char *name)
{
	struct koda_error err = { 0 };

	KODA_ASSERT_OK(koda_missing_look(gap, koda_in(dir, name), &err), err);
}

static void the_topmost_missing_directory_covers_all_below(void **state)
{
	koda_auto_missing struct koda_missing gap = KODA_MISSING_INIT;

	assert_false(covers(&gap, *state, "no/such/file"));
	look(&gap, *state, "no/such/file");
	assert_true(covers(&gap, *state, "no/such/file"));
	assert_true(covers(&gap, *state, "no/other"));
	assert_true(covers(&gap, *state, "no"));
	assert_false(covers(&gap, *state, "nobody"));
	assert_false(covers(&gap, *state, "other"));
}

static void what_is_there_is_no_gap(void **state)
{
	koda_auto_missing struct koda_missing gap = KODA_MISSING_INIT;

	look(&gap, *state, "missing");
	assert_int_equal(mkdir(koda_in(*state, "dir"), 0755), 0);
	look(&gap, *state, "dir");
	assert_false(covers(&gap, *state, "dir"));
	assert_false(covers(&gap, *state, "missing")); /* only the last look counts */
	look(&gap, *state, "dir/a/b");
	assert_true(covers(&gap, *state, "dir/a"));
	assert_false(covers(&gap, *state, "dir/b"));
}

/* A link that leads nowhere is there, and may be made to lead somewhere. */
static void a_dangling_link_is_no_gap(void **state)
{
	koda_auto_missing struct koda_missing gap = KODA_MISSING_INIT;

	(void)koda_make_link(*state, "link", "nowhere");
	look(&gap, *state, "link");
	assert_false(covers(&gap, *state, "link"));
	look(&gap, *state, "link/a");
	assert_true(covers(&gap, *state, "link/a/b"));
	assert_false(covers(&gap, *state, "link"));
	assert_false(covers(&gap, *state, "link/b"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_topmost_missing_directory_covers_all_below,
						koda_scratch_setup, koda_scratch_teardown),
		cmocka_unit_test_setup_teardown(what_is_there_is_no_gap, koda_scratch_setup,
						koda_scratch_teardown),
		cmocka_unit_test_setup_teardown(a_dangling_link_is_no_gap, koda_scratch_setup,
						koda_scratch_teardown),
	};

	return KODA_TEST_RUN(tests);
}
