/* SPDX-License-Identifier: MIT */
#include "run/backend/findings.h"

#include <errno.h>
#include <stddef.h>

/* The Landlock ABI versions that brought these rights. */
#define ABI_ANY      1 /* cannot tell moves between directories apart, and refuses them all */
#define ABI_MOVES    2
#define ABI_TRUNCATE 3
#define ABI_PORTS    4

struct koda_finding koda_finding_refused(const char *why, const char *remedy)
{
	return (struct koda_finding){ KODA_ENFORCEMENT_REFUSED, why, remedy };
}

struct koda_finding koda_finding_emulated(const char *why, const char *remedy)
{
	return (struct koda_finding){ KODA_ENFORCEMENT_EMULATED, why, remedy };
}

struct koda_finding koda_finding_enforced(const char *why)
{
	return (struct koda_finding){ KODA_ENFORCEMENT_ENFORCED, why, "" };
}

void koda_findings_all(struct koda_findings *findings, struct koda_finding finding)
{
	for (size_t i = 0; i < KODA_CLAUSE_COUNT; i++)
		findings->clause[i] = finding;
}

static struct koda_finding judge_landlock(const struct koda_machine *machine)
{
	if (machine->landlock_abi >= ABI_TRUNCATE)
		return koda_finding_enforced("");
	if (machine->landlock_abi >= ABI_MOVES)
		return koda_finding_enforced("this kernel's Landlock does not cover truncation; "
					     "only the view refuses it");
	if (machine->landlock_abi >= ABI_ANY)
		return koda_finding_emulated(
			"this kernel's Landlock refuses every move between directories",
			"use a kernel of version 5.19 or later");
	if (machine->landlock_errno == EOPNOTSUPP)
		return koda_finding_refused(
			"Landlock, the second layer under the view, is switched off",
			"add landlock to the lsm= parameter of the kernel");
	if (machine->landlock_errno == ENOSYS)
		return koda_finding_refused(
			"the kernel has no Landlock, the second layer under the view",
			"use a kernel of version 5.19 or later that is built with "
			"CONFIG_SECURITY_LANDLOCK");
	return koda_finding_refused(
		"a system-call filter around this process forbids Landlock, the second layer "
		"under the view",
		"start the container or service with a seccomp profile that allows the "
		"landlock calls");
}

struct koda_finding koda_findings_calls(const struct koda_machine *machine)
{
	switch (machine->calls) {
	case KODA_CALLS_MISSING:
		return koda_finding_refused(
			"the kernel lacks openat2, close_range or mount_setattr",
			"use a kernel of version 5.19 or later");
	case KODA_CALLS_FILTERED:
		return koda_finding_refused(
			"a system-call filter around this process hides openat2, close_range or "
			"mount_setattr, as another sandbox does",
			"start koda-sandbox outside of that, or with a seccomp profile that allows "
			"them");
	case KODA_CALLS_THERE:
		break;
	}
	return koda_finding_enforced("");
}

struct koda_finding koda_findings_kernel(const struct koda_machine *machine)
{
	if (machine->calls != KODA_CALLS_THERE)
		return koda_findings_calls(machine);
	if (!machine->seccomp_filter)
		return koda_finding_refused(
			"the kernel cannot filter system calls, which keeps it out of reach",
			"use a kernel that is built with CONFIG_SECCOMP_FILTER");
	if (machine->landlock_abi < ABI_ANY)
		return judge_landlock(machine);
	return koda_finding_enforced("");
}

void koda_findings_layers(const struct koda_machine *machine, struct koda_findings *findings)
{
	findings->clause[KODA_CLAUSE_SECOND_LAYER] = judge_landlock(machine);
	if (machine->landlock_abi < ABI_PORTS)
		findings->clause[KODA_CLAUSE_LOCAL_BINDING] = koda_finding_refused(
			"this kernel's Landlock knows no ports; a command could listen on "
			"its own loopback device",
			"use a kernel of version 6.7 or later");
}

void koda_findings_limits(const struct koda_machine *machine, struct koda_findings *findings)
{
	if (!machine->cgroup)
		findings->clause[KODA_CLAUSE_MEMORY] = koda_finding_emulated(
			"the sandbox adds up the memory of processes and files several times a "
			"second",
			"start from a session that delegates a control group (v2) with "
			"memory and pids, as systemd-run --user --scope -p Delegate=yes does");
	if (machine->as_root && !machine->cgroup)
		findings->clause[KODA_CLAUSE_PROCESS_COUNT] = koda_finding_emulated(
			"the kernel does not count root's processes; the sandbox does",
			"run as an ordinary user");
	findings->clause[KODA_CLAUSE_CPU_TIME].reason = "for each process";
}
