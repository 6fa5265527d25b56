/* SPDX-License-Identifier: MIT */
/* T-48. Whether what a backend enforces is enough for a trust mode. */
#include "../lib/scratch.h"
#include "koda_test.h"

#include "policy/policy.h"
#include "run/backend/admit.h"

#include <koda/koda.h>

static struct koda_findings all_but(enum koda_clause clause, enum koda_enforcement grip)
{
	struct koda_findings findings;

	for (int i = 0; i < KODA_CLAUSE_COUNT; i++)
		findings.clause[i] = (struct koda_finding){ KODA_ENFORCEMENT_ENFORCED, "", "" };
	findings.clause[clause] = (struct koda_finding){ grip, "reason", "cure" };
	return findings;
}

static void every_clause_of_containment_counts(void **state)
{
	(void)state;
	for (int i = 0; i < KODA_CLAUSE_COUNT; i++) {
		enum koda_clause clause = (enum koda_clause)i;
		bool contains = koda_clause_contains(clause);

		for (int grip = KODA_ENFORCEMENT_REFUSED; grip <= KODA_ENFORCEMENT_ENFORCED;
		     grip++) {
			struct koda_findings findings =
				all_but(clause, (enum koda_enforcement)grip);
			bool fine = !contains || grip == KODA_ENFORCEMENT_ENFORCED;
			const char *name = koda_clause_name(clause);

			KODA_EXPECT(name,
				    (koda_admit(KODA_TRUST_AUTO, &findings, 0, NULL) == 0) == fine);
			KODA_EXPECT(name,
				    (koda_admit(KODA_TRUST_SAFE, &findings, 0, NULL) == 0) == fine);
			KODA_EXPECT(name, koda_admit(KODA_TRUST_SAFE, &findings,
						     KODA_CLAUSE_BIT(clause), NULL) == 0);
			KODA_EXPECT(name, koda_admit(KODA_TRUST_PLAN, &findings,
						     KODA_CLAUSE_BIT(clause), NULL) == 0);
		}
	}
}

static void a_refusal_names_clause_reason_and_cure(void **state)
{
	struct koda_findings findings = all_but(KODA_CLAUSE_NETWORK, KODA_ENFORCEMENT_EMULATED);
	struct koda_error err = { 0 };

	(void)state;
	KODA_ASSERT_FAILS(KODA_E_UNSUPPORTED, koda_admit(KODA_TRUST_AUTO, &findings, 0, &err), err);
	assert_string_equal(err.field, "network");
	assert_string_equal(err.message, "reason; cure");
	KODA_ASSERT_FAILS(
		KODA_E_UNSUPPORTED,
		koda_admit(KODA_TRUST_SAFE, &findings, KODA_CLAUSE_BIT(KODA_CLAUSE_SOCKETS), &err),
		err);
	assert_string_equal(err.message, "reason; cure, or run with --accept network");
}

static void a_refusal_names_all_that_is_missing(void **state)
{
	struct koda_findings findings = all_but(KODA_CLAUSE_NETWORK, KODA_ENFORCEMENT_EMULATED);
	char reason[240];
	struct koda_error err = { 0 };

	(void)state;
	findings.clause[KODA_CLAUSE_SOCKETS] =
		(struct koda_finding){ KODA_ENFORCEMENT_REFUSED, "why", "how" };
	findings.clause[KODA_CLAUSE_MEMORY] =
		(struct koda_finding){ KODA_ENFORCEMENT_REFUSED, "no", "no" };
	KODA_ASSERT_FAILS(KODA_E_UNSUPPORTED, koda_admit(KODA_TRUST_SAFE, &findings, 0, &err), err);
	assert_string_equal(err.field, "sockets");
	assert_string_equal(err.message, "why; how, or run with --accept sockets --accept network");
	KODA_ASSERT_FAILS(KODA_E_UNSUPPORTED, koda_admit(KODA_TRUST_AUTO, &findings, 0, &err), err);
	assert_string_equal(err.message, "why; how; not held either: network");
	/* The list is what is needed next; the reasons can be had from doctor. */
	memset(reason, 'x', sizeof(reason) - 1);
	reason[sizeof(reason) - 1] = '\0';
	findings.clause[KODA_CLAUSE_SOCKETS].reason = reason;
	KODA_ASSERT_FAILS(KODA_E_UNSUPPORTED, koda_admit(KODA_TRUST_SAFE, &findings, 0, &err), err);
	assert_string_equal(
		err.message,
		"see koda-sandbox doctor, or run with --accept sockets --accept network");
	for (int i = 0; i < KODA_CLAUSE_COUNT; i++)
		findings.clause[i] =
			(struct koda_finding){ KODA_ENFORCEMENT_REFUSED, reason, "how" };
	KODA_ASSERT_FAILS(KODA_E_UNSUPPORTED, koda_admit(KODA_TRUST_PLAN, &findings, 0, &err), err);
	assert_non_null(strstr(err.message, "see koda-sandbox doctor"));
	assert_null(strstr(err.message, "--accept"));
}

static void auto_accepts_nothing(void **state)
{
	struct koda_findings findings = all_but(KODA_CLAUSE_NETWORK, KODA_ENFORCEMENT_ENFORCED);
	struct koda_error err = { 0 };

	(void)state;
	KODA_ASSERT_FAILS(
		KODA_E_INVALID,
		koda_admit(KODA_TRUST_AUTO, &findings, KODA_CLAUSE_BIT(KODA_CLAUSE_NETWORK), &err),
		err);
}

static void binding_counts_only_if_forbidden(void **state)
{
	koda_auto_policy struct koda_policy *policy = NULL;
	struct koda_error err = { 0 };

	(void)state;
	KODA_ASSERT_OK(koda_policy_new(&policy, &err), err);
	for (int allowed = 0; allowed <= 1; allowed++) {
		struct koda_findings findings =
			all_but(KODA_CLAUSE_LOCAL_BINDING, KODA_ENFORCEMENT_REFUSED);

		koda_policy_set_flag(policy, KODA_FLAG_ALLOW_LOCAL_BINDING, allowed);
		koda_admit_relax(policy, &findings);
		assert_int_equal(koda_admit(KODA_TRUST_AUTO, &findings, 0, NULL) == 0, allowed);
	}
}

/* The library refuses by itself, whoever calls it. */
static void auto_is_never_without_a_sandbox(void **state)
{
	struct koda_sandbox_options options = { .size = sizeof(options),
						.trust = KODA_TRUST_AUTO,
						.root = *state,
						.no_sandbox = true };
	struct koda_sandbox *sandbox = NULL;
	struct koda_findings findings;
	struct koda_error err = { 0 };

	KODA_ASSERT_FAILS(KODA_E_DENIED, koda_sandbox_open(&options, &sandbox, &err), err);
	options.trust = KODA_TRUST_SAFE;
	KODA_ASSERT_OK(koda_sandbox_open(&options, &sandbox, &err), err);
	koda_sandbox_findings(sandbox, &findings);
	assert_int_equal(findings.clause[KODA_CLAUSE_LOCAL_BINDING].enforcement,
			 KODA_ENFORCEMENT_REFUSED);
	koda_sandbox_close(sandbox);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_clause_of_containment_counts),
		cmocka_unit_test(a_refusal_names_clause_reason_and_cure),
		cmocka_unit_test(a_refusal_names_all_that_is_missing),
		cmocka_unit_test(auto_accepts_nothing),
		cmocka_unit_test(binding_counts_only_if_forbidden),
		cmocka_unit_test_setup_teardown(auto_is_never_without_a_sandbox, koda_scratch_setup,
						koda_scratch_teardown),
	};

	return KODA_TEST_RUN(tests);
}
