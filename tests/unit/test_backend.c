/* SPDX-License-Identifier: MIT */
/* The table of backends, and what a plan needs of the one it is carried out by: T-48. */
#include "koda_test.h"

#include "plan/plan.h"
#include "run/backend/admit.h"
#include "run/backend/backend.h"

static const struct koda_machine good = {
	.landlock_abi = 7, .userns = KODA_USERNS_FREE, .seccomp_filter = true, .overlay = true
};

static void links_count_only_where_there_are_some(void **state)
{
	const struct koda_op pin = { .kind = KODA_OP_PIN, .text1 = { "/p/.envrc", 9 } };
	koda_auto_plan struct koda_plan plan = KODA_PLAN_INIT;
	struct koda_findings findings;
	struct koda_error err = { 0 };

	(void)state;
	assert_true(koda_backend_bwrap.judge(&good, &findings));
	koda_admit_forgo(koda_admit_unneeded(&plan), &findings);
	KODA_ASSERT_OK(koda_admit(KODA_TRUST_AUTO, &findings, 0, &err), err);
	KODA_ASSERT_OK(koda_plan_add(&plan, &pin, NULL, &err), err);
	assert_true(koda_backend_bwrap.judge(&good, &findings));
	koda_admit_forgo(koda_admit_unneeded(&plan), &findings);
	KODA_ASSERT_FAILS(KODA_E_UNSUPPORTED, koda_admit(KODA_TRUST_AUTO, &findings, 0, &err), err);
	assert_string_equal(err.field, "link_names");
}

static void backends_have_names(void **state)
{
	struct koda_error err = { 0 };
	enum koda_backend_kind kind;

	(void)state;
	for (int i = 0; i < KODA_BACKEND_COUNT; i++) {
		const char *name = koda_backend_name((enum koda_backend_kind)i);

		KODA_ASSERT_OK(koda_backend_parse(name, &kind, &err), err);
		assert_int_equal(kind, i);
		if (koda_backend_of(kind))
			assert_string_equal(koda_backend_of(kind)->name, name);
	}
	assert_null(koda_backend_of(KODA_BACKEND_AUTO));
	KODA_ASSERT_FAILS(KODA_E_INVALID, koda_backend_parse("none", &kind, &err), err);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(links_count_only_where_there_are_some),
		cmocka_unit_test(backends_have_names),
	};

	return KODA_TEST_RUN(tests);
}
