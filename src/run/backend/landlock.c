/* SPDX-License-Identifier: MIT */
/*
 * The landlock backend, for machines without namespaces, such as most containers. Landlock grants
 * the command the file system without the denied paths, and keeps it from signalling and tracing
 * processes outside. A seccomp filter has init perform connect() for the command.
 */
#include "plan/landlock.h"
#include "base/fd.h"
#include "run/backend/backend.h"
#include "run/backend/findings.h"
#include "wire/report.h"

#include <errno.h>

#define LAUNCHER "koda-sandbox-stage2"

/* The Landlock ABI versions that brought these rights. */
#define ABI_MOVES    2
#define ABI_TRUNCATE 3
#define ABI_SCOPES   6

/* Whether namespaces really work is known only after trying. */
#define NATIVE     "use --backend native, which needs user namespaces"
#define NAMESPACES "allow user namespaces, and use --backend native"

/* Refuses, with the reason, where no sandbox can be made at all; enforced otherwise. */
static struct koda_finding find_obstacle(const struct koda_machine *machine)
{
	if (machine->calls != KODA_CALLS_THERE)
		return koda_findings_calls(machine);
	if (!machine->seccomp_filter)
		return koda_finding_refused(
			"the kernel cannot filter system calls, which keeps a command off "
			"the network and other processes",
			"use a kernel that is built with CONFIG_SECCOMP_FILTER");
	if (machine->no_notification)
		return koda_finding_refused(
			"there is no seccomp user notification, which holds connections, "
			"sockets, and modes and times of files",
			"use a kernel of version 5.19 or later, and no filter that hides it");
	if (machine->no_children)
		return koda_finding_refused(
			"the kernel does not list the children of a process, by which they are "
			"counted and ended",
			"mount /proc, and use a kernel that is built with CONFIG_PROC_CHILDREN");
	if (machine->landlock_abi >= ABI_MOVES)
		return koda_finding_enforced("");
	if (machine->landlock_abi > 0)
		return koda_finding_refused(
			"this kernel's Landlock refuses every move between directories",
			"use a kernel of version 5.19 or later");
	if (machine->landlock_errno == EOPNOTSUPP)
		return koda_finding_refused(
			"Landlock is switched off, which holds reading and writing",
			"add landlock to the lsm= parameter of the kernel");
	if (machine->landlock_errno == ENOSYS)
		return koda_finding_refused(
			"the kernel has no Landlock, which holds reading and writing",
			"use a kernel of version 5.19 or later that is built with "
			"CONFIG_SECURITY_LANDLOCK");
	return koda_finding_refused(
		"a system-call filter around this process forbids Landlock, which holds "
		"reading and writing",
		"start the container or service with a seccomp profile that allows the "
		"landlock calls");
}

/* Refuses the clauses that an older Landlock does not enforce. */
static void judge_abi(int abi, struct koda_finding *of)
{
	if (abi < ABI_TRUNCATE) {
		of[KODA_CLAUSE_WRITE_OUTSIDE] = of[KODA_CLAUSE_WRITE_PROTECTED] =
			koda_finding_refused("this kernel's Landlock lets every file be emptied",
					     "use a kernel of version 6.2 or later");
	}
	if (abi < ABI_SCOPES) {
		of[KODA_CLAUSE_PROCESSES] = koda_finding_refused(
			"this kernel's Landlock lets processes of the host be signalled",
			"use a kernel of version 6.12 or later");
		of[KODA_CLAUSE_END_OF_TREE] = koda_finding_emulated(
			"processes that are left are found and ended one by one",
			"use a kernel of version 6.12 or later");
	}
}

static bool judge(const struct koda_machine *machine, struct koda_findings *ret_findings)
{
	const char *native = machine->userns == KODA_USERNS_FREE ? NATIVE : NAMESPACES;
	const struct koda_finding obstacle = find_obstacle(machine);
	struct koda_finding *of = ret_findings->clause;

	koda_findings_all(ret_findings, obstacle);
	if (obstacle.enforcement == KODA_ENFORCEMENT_REFUSED)
		return false;
	of[KODA_CLAUSE_WRITE_PROTECTED] = koda_finding_enforced(
		"no name can be made or removed in a directory above a protected name");
	of[KODA_CLAUSE_HIDDEN_READS] =
		koda_finding_enforced("contents are hidden; that the name exists can be seen");
	of[KODA_CLAUSE_SOCKETS] =
		koda_finding_enforced("the command can make and reach sockets only below TMPDIR");
	of[KODA_CLAUSE_MISSING_NAMES] = koda_finding_refused(
		"without a mount, a protected name that does not exist can be created "
		"wherever nothing protected exists",
		native);
	of[KODA_CLAUSE_PRIVATE_DIRS] =
		koda_finding_refused("the host's /tmp, /run and /dev/shm are "
				     "closed, not private (TMPDIR is), and device "
				     "nodes outside /dev work",
				     native);
	of[KODA_CLAUSE_SECOND_LAYER] =
		koda_finding_refused("Landlock is the only layer that holds files", native);
	of[KODA_CLAUSE_NETWORK] =
		koda_finding_enforced("the sandbox makes every connection, to the proxy");
	judge_abi(machine->landlock_abi, of);
	koda_findings_limits(machine, ret_findings);
	/* A cgroup is charged for files in a tmpfs; init would have to stat every file. */
	if (!machine->cgroup)
		of[KODA_CLAUSE_MEMORY].reason =
			"the sandbox adds up the memory of all processes several times a second; "
			"files in TMPDIR are not counted, not even where /tmp is a tmpfs";
	/* RLIMIT_NPROC counts all processes of the user, those of the host too. */
	if (!machine->cgroup)
		of[KODA_CLAUSE_PROCESS_COUNT] = koda_finding_emulated(
			"the sandbox counts the processes itself",
			"start from a session that delegates a control group (v2) "
			"with memory and pids");
	of[KODA_CLAUSE_CACHES] =
		koda_finding_refused("package caches can be read, but not written", native);
	return true;
}

static int prepare(struct koda_launcher *launcher, struct koda_error *err)
{
	static char name[] = LAUNCHER;
	static char mode[] = KODA_STAGE2_LANDLOCK;
	char *const argv[] = { name, mode, NULL };
	char *const none[] = { NULL };
	const struct koda_channels *channels = &launcher->channels;
	koda_auto_buf struct koda_buf bytes = KODA_BUF_INIT(KODA_OP_PLAN_MAX);
	koda_auto_fd int filters = -1;
	struct koda_fdmap give[7];
	int r = koda_plan_landlock_filters(&bytes, err);

	if (r == KODA_OK)
		r = koda_fd_sealed("koda-filters", bytes.ptr, bytes.len, &filters, err);
	if (r == KODA_OK)
		r = koda_fd_memory("koda-plan", &launcher->plan_fd, err);
	for (int i = 0; i < 3; i++)
		give[i] = (struct koda_fdmap){ channels->stream[i][1], i };
	give[3] = (struct koda_fdmap){ launcher->plan_fd, KODA_STAGE2_PLAN_FD };
	give[4] = (struct koda_fdmap){ channels->status[1], KODA_STAGE2_STATUS_FD };
	give[5] = (struct koda_fdmap){ channels->life[1], KODA_STAGE2_LIFE_FD };
	give[6] = (struct koda_fdmap){ filters, KODA_STAGE2_FILTERS_FD };
	if (r == KODA_OK)
		r = koda_launcher_spawn(launcher, KODA_HELPER_DIR "/" LAUNCHER, argv, none, give,
					KODA_ARRAY_LEN(give), err);
	koda_channels_close_theirs(&launcher->channels);
	return r;
}

const struct koda_backend koda_backend_landlock = {
	.name = "landlock",
	.is_sandbox = true,
	.brokered_connect = true,
	.needs_scratch = true,
	.judge = judge,
	.prepare = prepare,
	.launch = koda_launcher_send_plan,
};
