/* SPDX-License-Identifier: MIT */
/* What machines that exist only in a table can hold, and whether that is enough: T-48. */
#include "../lib/scratch.h"
#include "koda_test.h"

#include "policy/policy.h"
#include "run/admit.h"
#include "run/backend.h"

#include <errno.h>
#include <koda/run.h>

/* A machine by what it has, for an ordinary user: Landlock's version, its error, user namespaces,
 * new system calls, filters. */
#define MACHINE(abi, error, names, there, filters)                                                 \
	{                                                                                          \
		.landlock_abi = (abi), .landlock_errno = (error), .userns = KODA_USERNS_##names,   \
		.calls = KODA_CALLS_##there, .seccomp_filter = (filters), .overlay = true          \
	}

static const struct koda_machine good = MACHINE(7, 0, FREE, THERE, true);

static struct koda_findings judge(const struct koda_backend *backend, struct koda_machine machine,
				  bool *ret_usable)
{
	struct koda_findings findings;

	*ret_usable = backend->judge(&machine, &findings);
	for (int i = 0; i < KODA_CLAUSE_COUNT; i++) {
		const char *name = koda_clause_name((enum koda_clause)i);

		KODA_EXPECT(name, findings.of[i].why && findings.of[i].remedy);
		KODA_EXPECT(name,
			    findings.of[i].grip == KODA_GRIP_ENFORCED || findings.of[i].why[0]);
	}
	return findings;
}

static void a_good_machine_holds_all_containment(void **state)
{
	bool usable;
	struct koda_findings findings = judge(&koda_backend_native, good, &usable);

	(void)state;
	assert_true(usable);
	for (int i = 0; i < KODA_CLAUSE_COUNT; i++)
		if (koda_clause_contains((enum koda_clause)i))
			KODA_EXPECT(koda_clause_name((enum koda_clause)i),
				    findings.of[i].grip == KODA_GRIP_ENFORCED);
	assert_int_equal(findings.of[KODA_CLAUSE_PROCESS_COUNT].grip, KODA_GRIP_ENFORCED);
}

static const struct {
	const char *name;
	struct koda_machine machine;
	const char *why;
	const char *remedy;
} obstacles[] = {
	{ "filtered", MACHINE(7, 0, FILTERED, THERE, true), "call filter", "seccomp profile" },
	{ "no namespaces", MACHINE(7, 0, NONE, THERE, true), "max_user_namespaces",
	  "sysctl user.max_user_namespaces=" },
	{ "Debian's switch", MACHINE(7, 0, CLOSED, THERE, true), "unprivileged_userns_clone",
	  "sysctl kernel.unprivileged_userns_clone=1" },
	{ "AppArmor", MACHINE(7, 0, APPARMOR, THERE, true), "AppArmor", "AppArmor profile" },
	{ "old kernel", MACHINE(7, 0, FREE, MISSING, true), "mount_setattr", "5.19" },
	{ "another sandbox", MACHINE(7, 0, FREE, FILTERED, true), "another sandbox", "outside" },
	{ "no filters", MACHINE(7, 0, FREE, THERE, false), "filter", "CONFIG_SECCOMP_FILTER" },
	{ "Landlock off", MACHINE(0, EOPNOTSUPP, FREE, THERE, true), "switched off", "lsm=" },
	{ "no Landlock", MACHINE(0, ENOSYS, FREE, THERE, true), "no Landlock",
	  "CONFIG_SECURITY_LANDLOCK" },
	{ "Landlock filtered", MACHINE(0, EPERM, FREE, THERE, true), "system-call filter",
	  "seccomp profile" },
};

static void an_obstacle_refuses_everything_and_has_a_remedy(void **state)
{
	(void)state;
	KODA_EACH(row, obstacles) {
		bool usable;
		struct koda_findings findings = judge(&koda_backend_native, row->machine, &usable);

		KODA_EXPECT(row->name, !usable);
		for (int i = 0; i < KODA_CLAUSE_COUNT; i++)
			KODA_EXPECT(row->name, findings.of[i].grip == KODA_GRIP_REFUSED);
		KODA_EXPECT(row->name, strstr(findings.of[0].why, row->why));
		KODA_EXPECT(row->name, strstr(findings.of[0].remedy, row->remedy));
	}
}

static const struct {
	const char *name;
	int abi;
	bool as_root;
	bool overlay;
	enum koda_clause clause;
	enum koda_grip grip;
} shades[] = {
	{ "moves", 1, false, true, KODA_CLAUSE_SECOND_LAYER, KODA_GRIP_EMULATED },
	{ "moves", 2, false, true, KODA_CLAUSE_SECOND_LAYER, KODA_GRIP_ENFORCED },
	{ "ports", 3, false, true, KODA_CLAUSE_LOCAL_BINDING, KODA_GRIP_REFUSED },
	{ "ports", 4, false, true, KODA_CLAUSE_LOCAL_BINDING, KODA_GRIP_ENFORCED },
	{ "root", 7, true, true, KODA_CLAUSE_PROCESS_COUNT, KODA_GRIP_EMULATED },
	{ "user", 7, false, true, KODA_CLAUSE_PROCESS_COUNT, KODA_GRIP_ENFORCED },
	{ "overlay", 7, false, false, KODA_CLAUSE_CACHES, KODA_GRIP_EMULATED },
	{ "view alone", 1, false, true, KODA_CLAUSE_WRITE_OUTSIDE, KODA_GRIP_ENFORCED },
};

static void what_is_missing_is_one_clause(void **state)
{
	(void)state;
	KODA_EACH(row, shades) {
		struct koda_machine machine = good;
		struct koda_findings findings;
		bool usable;

		machine.landlock_abi = row->abi;
		machine.as_root = row->as_root;
		machine.overlay = row->overlay;
		findings = judge(&koda_backend_native, machine, &usable);
		KODA_EXPECT(row->name, usable);
		KODA_EXPECT(row->name, findings.of[row->clause].grip == row->grip);
	}
}

static void a_control_group_holds_the_sums(void **state)
{
	struct koda_machine machine = good;
	struct koda_findings findings;
	bool usable;

	(void)state;
	machine.as_root = true;
	for (int group = 0; group < 2; group++) {
		enum koda_grip grip = group ? KODA_GRIP_ENFORCED : KODA_GRIP_EMULATED;

		machine.cgroup = group;
		findings = judge(&koda_backend_native, machine, &usable);
		assert_int_equal(findings.of[KODA_CLAUSE_MEMORY].grip, grip);
		assert_int_equal(findings.of[KODA_CLAUSE_PROCESS_COUNT].grip, grip);
	}
}

static void no_sandbox_claims_nothing(void **state)
{
	bool usable;
	struct koda_findings findings = judge(&koda_backend_none, good, &usable);

	(void)state;
	for (int i = 0; i < KODA_CLAUSE_COUNT; i++)
		if (i != KODA_CLAUSE_WALL_TIME && i != KODA_CLAUSE_OUTPUT)
			KODA_EXPECT(koda_clause_name((enum koda_clause)i),
				    findings.of[i].grip == KODA_GRIP_REFUSED);
}

/* --- bubblewrap: T-49 --- */

static void bubblewrap_holds_all_but_links(void **state)
{
	struct koda_findings findings;
	bool usable;

	(void)state;
	for (int open = 0; open < 2; open++) {
		struct koda_machine machine = good;

		machine.open_views = open;
		/* It may, where we may not. */
		machine.userns = open ? KODA_USERNS_APPARMOR : KODA_USERNS_FREE;
		findings = judge(&koda_backend_bwrap, machine, &usable);
		assert_true(usable);
		for (int i = 0; i < KODA_CLAUSE_COUNT; i++)
			if (koda_clause_contains((enum koda_clause)i))
				KODA_EXPECT(koda_clause_name((enum koda_clause)i),
					    (findings.of[i].grip == KODA_GRIP_ENFORCED) ==
						    (i != KODA_CLAUSE_LINK_NAMES));
		assert_int_equal(findings.of[KODA_CLAUSE_CACHES].grip, KODA_GRIP_EMULATED);
		assert_int_equal(findings.of[KODA_CLAUSE_WRITE_PROTECTED].why[0] != '\0', open);
		assert_int_equal(findings.of[KODA_CLAUSE_HIDDEN_READS].why[0] != '\0', open);
		assert_int_equal(findings.of[KODA_CLAUSE_SOCKETS].why[0] != '\0', open);
	}
}

static void without_bubblewrap_there_is_no_such_sandbox(void **state)
{
	static const struct {
		const char *name;
		enum koda_bubblewrap bubblewrap;
		enum koda_userns userns;
		int landlock_abi;
		const char *remedy;
	} rows[] = {
		{ "missing", KODA_BUBBLEWRAP_MISSING, KODA_USERNS_FREE, 7, "package bubblewrap" },
		{ "foreign", KODA_BUBBLEWRAP_FOREIGN, KODA_USERNS_FREE, 7, "package bubblewrap" },
		{ "filtered", KODA_BUBBLEWRAP_THERE, KODA_USERNS_FILTERED, 7, "seccomp profile" },
		{ "none", KODA_BUBBLEWRAP_THERE, KODA_USERNS_NONE, 7, "max_user_namespaces" },
		{ "no Landlock", KODA_BUBBLEWRAP_THERE, KODA_USERNS_FREE, 0, "lsm=" },
	};

	(void)state;
	KODA_EACH(row, rows) {
		struct koda_machine machine = good;
		struct koda_findings findings;
		bool usable;

		machine.bubblewrap = row->bubblewrap;
		machine.userns = row->userns;
		machine.landlock_abi = row->landlock_abi;
		machine.landlock_errno = EOPNOTSUPP;
		findings = judge(&koda_backend_bwrap, machine, &usable);
		KODA_EXPECT(row->name, !usable);
		for (int i = 0; i < KODA_CLAUSE_COUNT; i++)
			KODA_EXPECT(row->name, findings.of[i].grip == KODA_GRIP_REFUSED);
		KODA_EXPECT(row->name, strstr(findings.of[0].remedy, row->remedy));
	}
}

/* --- admission --- */

static struct koda_findings all_but(enum koda_clause clause, enum koda_grip grip)
{
	struct koda_findings findings;

	for (int i = 0; i < KODA_CLAUSE_COUNT; i++)
		findings.of[i] = (struct koda_finding){ KODA_GRIP_ENFORCED, "", "" };
	findings.of[clause] = (struct koda_finding){ grip, "reason", "cure" };
	return findings;
}

static void every_clause_of_containment_counts(void **state)
{
	(void)state;
	for (int i = 0; i < KODA_CLAUSE_COUNT; i++) {
		enum koda_clause clause = (enum koda_clause)i;
		bool contains = koda_clause_contains(clause);

		for (int grip = KODA_GRIP_REFUSED; grip <= KODA_GRIP_ENFORCED; grip++) {
			struct koda_findings findings = all_but(clause, (enum koda_grip)grip);
			bool fine = !contains || grip == KODA_GRIP_ENFORCED;
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
	struct koda_findings findings = all_but(KODA_CLAUSE_NETWORK, KODA_GRIP_EMULATED);
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
	struct koda_findings findings = all_but(KODA_CLAUSE_NETWORK, KODA_GRIP_EMULATED);
	char reason[240];
	struct koda_error err = { 0 };

	(void)state;
	findings.of[KODA_CLAUSE_SOCKETS] = (struct koda_finding){ KODA_GRIP_REFUSED, "why", "how" };
	findings.of[KODA_CLAUSE_MEMORY] = (struct koda_finding){ KODA_GRIP_REFUSED, "no", "no" };
	KODA_ASSERT_FAILS(KODA_E_UNSUPPORTED, koda_admit(KODA_TRUST_SAFE, &findings, 0, &err), err);
	assert_string_equal(err.field, "sockets");
	assert_string_equal(err.message, "why; how, or run with --accept sockets --accept network");
	KODA_ASSERT_FAILS(KODA_E_UNSUPPORTED, koda_admit(KODA_TRUST_AUTO, &findings, 0, &err), err);
	assert_string_equal(err.message, "why; how; not held either: network");
	/* The list is what is needed next; the reasons can be had from doctor. */
	memset(reason, 'x', sizeof(reason) - 1);
	reason[sizeof(reason) - 1] = '\0';
	findings.of[KODA_CLAUSE_SOCKETS].why = reason;
	KODA_ASSERT_FAILS(KODA_E_UNSUPPORTED, koda_admit(KODA_TRUST_SAFE, &findings, 0, &err), err);
	assert_string_equal(
		err.message,
		"see koda-sandbox doctor, or run with --accept sockets --accept network");
	for (int i = 0; i < KODA_CLAUSE_COUNT; i++)
		findings.of[i] = (struct koda_finding){ KODA_GRIP_REFUSED, reason, "how" };
	KODA_ASSERT_FAILS(KODA_E_UNSUPPORTED, koda_admit(KODA_TRUST_PLAN, &findings, 0, &err), err);
	assert_non_null(strstr(err.message, "see koda-sandbox doctor"));
	assert_null(strstr(err.message, "--accept"));
}

static void auto_accepts_nothing(void **state)
{
	struct koda_findings findings = all_but(KODA_CLAUSE_NETWORK, KODA_GRIP_ENFORCED);
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
			all_but(KODA_CLAUSE_LOCAL_BINDING, KODA_GRIP_REFUSED);

		koda_policy_set_flag(policy, KODA_FLAG_ALLOW_LOCAL_BINDING, allowed);
		koda_admit_relax(policy, &findings);
		assert_int_equal(koda_admit(KODA_TRUST_AUTO, &findings, 0, NULL) == 0, allowed);
	}
}

static void names_are_read_back(void **state)
{
	struct koda_error err = { 0 };
	enum koda_clause clause;

	(void)state;
	for (int i = 0; i < KODA_CLAUSE_COUNT; i++) {
		KODA_ASSERT_OK(
			koda_clause_parse(koda_clause_name((enum koda_clause)i), &clause, &err),
			err);
		assert_int_equal(clause, i);
	}
	KODA_ASSERT_FAILS(KODA_E_INVALID, koda_clause_parse("", &clause, &err), err);
	KODA_ASSERT_FAILS(KODA_E_INVALID, koda_clause_parse("Network", &clause, &err), err);
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
	assert_int_equal(findings.of[KODA_CLAUSE_LOCAL_BINDING].grip, KODA_GRIP_REFUSED);
	koda_sandbox_close(sandbox);
}

/* Looking must not change what a process is: here it is looked at twice. */
static void looking_is_repeatable(void **state)
{
	struct koda_machine first;
	struct koda_machine second;

	(void)state;
	koda_machine_look(&first);
	koda_machine_look(&second);
	assert_int_equal(first.landlock_abi, second.landlock_abi);
	assert_int_equal(first.userns, second.userns);
	koda_machine_glance(&second);
	assert_int_equal(first.landlock_abi, second.landlock_abi);
	assert_int_equal(first.as_root, second.as_root);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_good_machine_holds_all_containment),
		cmocka_unit_test(an_obstacle_refuses_everything_and_has_a_remedy),
		cmocka_unit_test(what_is_missing_is_one_clause),
		cmocka_unit_test(a_control_group_holds_the_sums),
		cmocka_unit_test(no_sandbox_claims_nothing),
		cmocka_unit_test(bubblewrap_holds_all_but_links),
		cmocka_unit_test(without_bubblewrap_there_is_no_such_sandbox),
		cmocka_unit_test(every_clause_of_containment_counts),
		cmocka_unit_test(a_refusal_names_clause_reason_and_cure),
		cmocka_unit_test(a_refusal_names_all_that_is_missing),
		cmocka_unit_test(auto_accepts_nothing),
		cmocka_unit_test(binding_counts_only_if_forbidden),
		cmocka_unit_test(names_are_read_back),
		cmocka_unit_test_setup_teardown(auto_is_never_without_a_sandbox, koda_scratch_setup,
						koda_scratch_teardown),
		cmocka_unit_test(looking_is_repeatable),
	};

	return KODA_TEST_RUN(tests);
}
