/* SPDX-License-Identifier: MIT */
/* T-16. Which plans bubblewrap can be told. What it makes of them the golden plans show. */
#include "koda_test.h"

#include "plan/bwrap.h"

static int render(enum koda_op_kind kind, struct koda_buf *out, struct koda_error *err)
{
	const struct koda_op ops[] = {
		{ .kind = KODA_OP_READONLY, .text1 = koda_span_of("/a") },
		{ .kind = kind, .text1 = koda_span_of("/b") },
	};
	koda_auto_plan struct koda_plan plan = KODA_PLAN_INIT;

	KODA_EACH(op, ops) {
		KODA_ASSERT_OK(koda_plan_add(&plan, op, "rule", err), *err);
	}
	return koda_bwrap_print(&plan, out, err);
}

static void a_plan_without_a_view_is_refused(void **state)
{
	static const enum koda_op_kind kinds[] = { KODA_OP_SCRATCH, KODA_OP_SOCKET };

	(void)state;
	KODA_EACH(kind, kinds) {
		koda_auto_buf struct koda_buf out = KODA_BUF_INIT(65536);
		struct koda_error err = { 0 };

		KODA_ASSERT_FAILS(KODA_E_INVALID, render(*kind, &out, &err), err);
		assert_non_null(strstr(err.message, "landlock"));
		assert_int_equal(out.len, 0);
	}
}

static void a_plan_with_one_is_not(void **state)
{
	koda_auto_buf struct koda_buf out = KODA_BUF_INIT(65536);
	struct koda_error err = { 0 };

	(void)state;
	KODA_ASSERT_OK(render(KODA_OP_WRITABLE, &out, &err), err);
	assert_int_equal(koda_buf_add(&out, "", 1), KODA_OK);
	assert_non_null(strstr(out.ptr, "--ro-bind /a /a\n--bind /b /b\n"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_plan_without_a_view_is_refused),
		cmocka_unit_test(a_plan_with_one_is_not),
	};

	return KODA_TEST_RUN(tests);
}
