/* SPDX-License-Identifier: MIT */
/* T-83. Shares: however many sandboxes want everything, the next one finds its part. */
#include "koda_test.h"

#include "io/budget.h"

#define TENANTS 1024

/* Sandboxes that come one after the other and take what they get; what the last one got. */
static size_t take(size_t all, size_t most, size_t tenants, size_t *ret_used)
{
	size_t used = 0;
	size_t own = 0;

	for (size_t i = 0; i < tenants; i++)
		for (own = 0; own < egress_budget_share(all, used, most); own++)
			used++;
	*ret_used = used;
	return own;
}

static void test_shares(void **state)
{
	static const struct {
		const char *name;
		size_t all;
		size_t most;
		size_t tenants;
		size_t least; /* that the last of them gets */
	} rows[] = {
		{ "one", 16384, 4096, 1, 4096 },
		{ "two", 16384, 4096, 2, 4096 },
		{ "three", 16384, 4096, 3, 512 },
		{ "ten", 16384, 4096, 10, 512 },
		{ "eleven", 16384, 4096, 11, 32 },
		{ "74", 16384, 4096, 74, 32 },
		{ "all sandboxes", 16384, 4096, TENANTS, 2 },
		{ "few descriptors", 416, 208, 2, 13 },
		{ "few descriptors, four", 416, 208, 4, 13 },
		{ "threads", 32, 8, 2, 8 },
		{ "threads of three", 32, 8, 3, 1 },
		{ "threads of 18", 32, 8, 18, 1 },
		{ "very few", 16, 6, 4, 1 },
	};

	(void)state;
	KODA_EACH(row, rows) {
		size_t used;
		size_t own = take(row->all, row->most, row->tenants, &used);

		KODA_EXPECT(row->name, own >= row->least);
		KODA_EXPECT(row->name, used <= row->all);
	}
	assert_int_equal(egress_budget_share(16, 16, 6), 0);
	assert_int_equal(egress_budget_share(16, 17, 6), 0);
	assert_int_equal(egress_budget_share(0, 0, 6), 0);
}

/* Buffers of one size each, taken in turn by sandboxes that want all they can get. */
static void test_budgets(void **state)
{
	static struct egress_budget tenants[TENANTS];
	struct egress_budget whole = { .most = (size_t)256 << 20 };
	const size_t size = (size_t)32 << 10;

	(void)state;
	for (size_t i = 0; i < TENANTS; i++)
		tenants[i] = (struct egress_budget){ .most = (size_t)64 << 20, .whole = &whole };
	for (size_t i = 0; i < TENANTS; i++) {
		while (egress_budget_affords(&tenants[i], 0, size))
			egress_budget_move(&tenants[i], 0, size);
		assert_true(tenants[i].used >= size);
		assert_true(tenants[i].used <= tenants[i].most && whole.used <= whole.most);
	}
	assert_int_equal(tenants[0].used, (size_t)64 << 20);
	assert_int_equal(tenants[2].used, (size_t)8 << 20);
	assert_int_equal(tenants[20].used, (size_t)512 << 10);
	/* What is given back is there for others. */
	egress_budget_move(&tenants[0], tenants[0].used, 0);
	assert_int_equal(tenants[0].used, 0);
	assert_true(egress_budget_affords(&tenants[1000], 0, (size_t)1 << 20));
	/* Ordinary buffers do not count, and a shrinking one is always fine. */
	assert_true(egress_budget_affords(&tenants[1000], size, EGRESS_BUDGET_ORDINARY));
	assert_true(egress_budget_affords(NULL, 0, (size_t)1 << 40));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shares),
		cmocka_unit_test(test_budgets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
