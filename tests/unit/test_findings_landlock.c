/* SPDX-License-Identifier: MIT */
/* What the landlock backend can hold on machines that exist only here, and what it says: T-48. */
#include "koda_test.h"

#include "run/backend/backend.h"

static const struct koda_machine good = { .landlock_abi = 7,
					  .userns = KODA_USERNS_FREE,
					  .seccomp_filter = true };

static struct koda_findings judge(const struct koda_machine *machine, bool usable)
{
	struct koda_findings findings;

	assert_int_equal(koda_backend_landlock.judge(machine, &findings), usable);
	return findings;
}

/* Processes that cannot be listed can neither be counted nor, one by one, be ended. */
static void without_a_list_of_children_nothing_is_held(void **state)
{
	struct koda_machine machine = good;
	struct koda_findings findings;

	(void)state;
	(void)judge(&machine, true);
	machine.no_children = true;
	findings = judge(&machine, false);
	for (int i = 0; i < KODA_CLAUSE_COUNT; i++)
		assert_int_equal(findings.clause[i].enforcement, KODA_ENFORCEMENT_REFUSED);
	assert_non_null(strstr(findings.clause[0].remedy, "CONFIG_PROC_CHILDREN"));
	/* Namespaces end and count without. */
	assert_true(koda_backend_native.judge(&machine, &findings));
}

/* What is allowed already is not to be allowed. */
static void the_remedy_is_native_where_that_may_work(void **state)
{
	struct koda_machine machine = good;
	struct koda_findings findings = judge(&machine, true);

	(void)state;
	assert_null(strstr(findings.clause[KODA_CLAUSE_MISSING_NAMES].remedy, "allow"));
	assert_non_null(
		strstr(findings.clause[KODA_CLAUSE_MISSING_NAMES].remedy, "--backend native"));
	machine.userns = KODA_USERNS_CLOSED;
	findings = judge(&machine, true);
	assert_non_null(strstr(findings.clause[KODA_CLAUSE_MISSING_NAMES].remedy, "allow user"));
}

/* Only a control group is charged for files in memory that are the host's. */
static void memory_that_is_not_counted_is_told(void **state)
{
	struct koda_machine machine = good;
	struct koda_findings findings = judge(&machine, true);

	(void)state;
	assert_int_equal(findings.clause[KODA_CLAUSE_MEMORY].enforcement,
			 KODA_ENFORCEMENT_EMULATED);
	assert_non_null(strstr(findings.clause[KODA_CLAUSE_MEMORY].reason, "TMPDIR"));
	machine.cgroup = true;
	findings = judge(&machine, true);
	assert_int_equal(findings.clause[KODA_CLAUSE_MEMORY].enforcement,
			 KODA_ENFORCEMENT_ENFORCED);
	assert_null(strstr(findings.clause[KODA_CLAUSE_MEMORY].reason, "TMPDIR"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_a_list_of_children_nothing_is_held),
		cmocka_unit_test(the_remedy_is_native_where_that_may_work),
		cmocka_unit_test(memory_that_is_not_counted_is_told),
	};

	return KODA_TEST_RUN(tests);
}
