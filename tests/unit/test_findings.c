/* SPDX-License-Identifier: MIT */
/* What machines that exist only in a table can hold, T-48. */
#include "koda_test.h"

#include "run/backend/backend.h"

#include <errno.h>
#include <koda/koda.h>

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

		KODA_EXPECT(name, findings.clause[i].reason && findings.clause[i].remedy);
		KODA_EXPECT(name, findings.clause[i].enforcement == KODA_ENFORCEMENT_ENFORCED ||
					  findings.clause[i].reason[0]);
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
				    findings.clause[i].enforcement == KODA_ENFORCEMENT_ENFORCED);
	assert_int_equal(findings.clause[KODA_CLAUSE_PROCESS_COUNT].enforcement,
			 KODA_ENFORCEMENT_ENFORCED);
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
			KODA_EXPECT(row->name,
				    findings.clause[i].enforcement == KODA_ENFORCEMENT_REFUSED);
		KODA_EXPECT(row->name, strstr(findings.clause[0].reason, row->why));
		KODA_EXPECT(row->name, strstr(findings.clause[0].remedy, row->remedy));
	}
}

static const struct {
	const char *name;
	int abi;
	bool as_root;
	bool overlay;
	enum koda_clause clause;
	enum koda_enforcement grip;
} shades[] = {
	{ "moves", 1, false, true, KODA_CLAUSE_SECOND_LAYER, KODA_ENFORCEMENT_EMULATED },
	{ "moves", 2, false, true, KODA_CLAUSE_SECOND_LAYER, KODA_ENFORCEMENT_ENFORCED },
	{ "ports", 3, false, true, KODA_CLAUSE_LOCAL_BINDING, KODA_ENFORCEMENT_REFUSED },
	{ "ports", 4, false, true, KODA_CLAUSE_LOCAL_BINDING, KODA_ENFORCEMENT_ENFORCED },
	{ "root", 7, true, true, KODA_CLAUSE_PROCESS_COUNT, KODA_ENFORCEMENT_EMULATED },
	{ "user", 7, false, true, KODA_CLAUSE_PROCESS_COUNT, KODA_ENFORCEMENT_ENFORCED },
	{ "overlay", 7, false, false, KODA_CLAUSE_CACHES, KODA_ENFORCEMENT_EMULATED },
	{ "view alone", 1, false, true, KODA_CLAUSE_WRITE_OUTSIDE, KODA_ENFORCEMENT_ENFORCED },
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
		KODA_EXPECT(row->name, findings.clause[row->clause].enforcement == row->grip);
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
		enum koda_enforcement grip =
			group ? KODA_ENFORCEMENT_ENFORCED : KODA_ENFORCEMENT_EMULATED;

		machine.cgroup = group;
		findings = judge(&koda_backend_native, machine, &usable);
		assert_int_equal(findings.clause[KODA_CLAUSE_MEMORY].enforcement, grip);
		assert_int_equal(findings.clause[KODA_CLAUSE_PROCESS_COUNT].enforcement, grip);
	}
}

static void no_sandbox_contains_nothing(void **state)
{
	bool usable;
	struct koda_findings findings = judge(&koda_backend_none, good, &usable);

	(void)state;
	for (int i = 0; i < KODA_CLAUSE_COUNT; i++)
		if (koda_clause_contains((enum koda_clause)i))
			KODA_EXPECT(koda_clause_name((enum koda_clause)i),
				    findings.clause[i].enforcement == KODA_ENFORCEMENT_REFUSED);
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
					    (findings.clause[i].enforcement ==
					     KODA_ENFORCEMENT_ENFORCED) ==
						    (i != KODA_CLAUSE_LINK_NAMES));
		assert_int_equal(findings.clause[KODA_CLAUSE_CACHES].enforcement,
				 KODA_ENFORCEMENT_EMULATED);
		assert_int_equal(findings.clause[KODA_CLAUSE_WRITE_PROTECTED].reason[0] != '\0',
				 open);
		assert_int_equal(findings.clause[KODA_CLAUSE_HIDDEN_READS].reason[0] != '\0', open);
		assert_int_equal(findings.clause[KODA_CLAUSE_SOCKETS].reason[0] != '\0', open);
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
			KODA_EXPECT(row->name,
				    findings.clause[i].enforcement == KODA_ENFORCEMENT_REFUSED);
		KODA_EXPECT(row->name, strstr(findings.clause[0].remedy, row->remedy));
	}
}

/* --- admission --- */

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

/* Looking must not change what a process is: here it is looked at twice. */
static void looking_is_repeatable(void **state)
{
	struct koda_machine first;
	struct koda_machine second;

	(void)state;
	koda_machine_probe_full(&first);
	koda_machine_probe_full(&second);
	assert_int_equal(first.landlock_abi, second.landlock_abi);
	assert_int_equal(first.userns, second.userns);
	koda_machine_probe_quick(&second);
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
		cmocka_unit_test(no_sandbox_contains_nothing),
		cmocka_unit_test(bubblewrap_holds_all_but_links),
		cmocka_unit_test(without_bubblewrap_there_is_no_such_sandbox),
		cmocka_unit_test(names_are_read_back),
		cmocka_unit_test(looking_is_repeatable),
	};

	return KODA_TEST_RUN(tests);
}
