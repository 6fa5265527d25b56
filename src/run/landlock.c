/* SPDX-License-Identifier: MIT */
/*
 * The landlock backend, for machines without namespaces, as most containers are. The launcher
 * grants the command what survives of the file system after all denies, keeps it from signalling
 * and tracing anybody else, and does its connections for it. What that cannot hold is said here.
 */
#include "run/backend.h"

#include "base/fd.h"
#include "run/judge.h"
#include "wire/report.h"

#include <errno.h>

#define LAUNCHER "koda-sandbox-stage2"

/* What Landlock takes part in. */
#define ABI_MOVES    2
#define ABI_TRUNCATE 3
#define ABI_SCOPES   6

/* Whether they really are free is known to who tries. */
#define NATIVE     "use --backend native, which needs user namespaces"
#define NAMESPACES "allow user namespaces, and use --backend native"

/* What keeps the launcher from making any sandbox; enforced if nothing does. */
static struct koda_finding find_obstacle(const struct koda_machine *machine)
{
	if (machine->calls != KODA_CALLS_THERE)
		return koda_judge_calls(machine);
	if (!machine->seccomp_filter)
		return koda_refused(
			"the kernel cannot filter system calls, which keeps a command off "
			"the network and other processes",
			"use a kernel that is built with CONFIG_SECCOMP_FILTER");
	if (machine->no_notification)
		return koda_refused(
			"there is no seccomp user notification, which holds connections, "
			"sockets, and modes and times of files",
			"use a kernel of version 5.19 or later, and no filter that hides it");
	if (machine->no_children)
		return koda_refused(
			"the kernel does not list the children of a process, by which they are "
			"counted and ended",
			"mount /proc, and use a kernel that is built with CONFIG_PROC_CHILDREN");
	if (machine->landlock_abi >= ABI_MOVES)
		return koda_enforced("");
	if (machine->landlock_abi > 0)
		return koda_refused("this kernel's Landlock refuses every move between directories",
				    "use a kernel of version 5.19 or later");
	if (machine->landlock_errno == EOPNOTSUPP)
		return koda_refused("Landlock is switched off, which holds reading and writing",
				    "add landlock to the lsm= parameter of the kernel");
	if (machine->landlock_errno == ENOSYS)
		return koda_refused("the kernel has no Landlock, which holds reading and writing",
				    "use a kernel of version 5.19 or later that is built with "
				    "CONFIG_SECURITY_LANDLOCK");
	return koda_refused(
		"a system-call filter around this process forbids Landlock, which holds "
		"reading and writing",
		"start the container or service with a seccomp profile that allows the "
		"landlock calls");
}

/* What an older Landlock leaves open. */
static void judge_abi(int abi, struct koda_finding *of)
{
	if (abi < ABI_TRUNCATE) {
		of[KODA_CLAUSE_WRITE_OUTSIDE] = of[KODA_CLAUSE_WRITE_PROTECTED] =
			koda_refused("this kernel's Landlock lets every file be emptied",
				     "use a kernel of version 6.2 or later");
	}
	if (abi < ABI_SCOPES) {
		of[KODA_CLAUSE_PROCESSES] = koda_refused(
			"this kernel's Landlock lets processes of the host be signalled",
			"use a kernel of version 6.12 or later");
		of[KODA_CLAUSE_END_OF_TREE] =
			koda_emulated("what is left is looked for and ended, one by one",
				      "use a kernel of version 6.12 or later");
	}
}

static bool judge(const struct koda_machine *machine, struct koda_findings *ret_findings)
{
	const char *native = machine->userns == KODA_USERNS_FREE ? NATIVE : NAMESPACES;
	const struct koda_finding obstacle = find_obstacle(machine);
	struct koda_finding *of = ret_findings->of;

	koda_judge_all(ret_findings, obstacle);
	if (obstacle.grip == KODA_GRIP_REFUSED)
		return false;
	of[KODA_CLAUSE_WRITE_PROTECTED] = koda_enforced(
		"nothing can be made or removed in a directory that leads to something "
		"protected");
	of[KODA_CLAUSE_HIDDEN_READS] =
		koda_enforced("contents; that a hidden name exists can be seen");
	of[KODA_CLAUSE_SOCKETS] =
		koda_enforced("those of the command can be made and reached only below TMPDIR");
	of[KODA_CLAUSE_MISSING_NAMES] =
		koda_refused("without a mount, a protected name that does not exist can be created "
			     "wherever nothing protected exists",
			     native);
	of[KODA_CLAUSE_PRIVATE_DIRS] = koda_refused("the host's /tmp, /run and /dev/shm are "
						    "closed, not private (TMPDIR is), and device "
						    "nodes outside /dev work",
						    native);
	of[KODA_CLAUSE_SECOND_LAYER] =
		koda_refused("Landlock is the only layer that holds files", native);
	of[KODA_CLAUSE_NETWORK] = koda_enforced("the sandbox makes every connection, to the proxy");
	judge_abi(machine->landlock_abi, of);
	koda_judge_limits(machine, ret_findings);
	/* A group is charged for them; init would have to look at every file. */
	if (!machine->cgroup)
		of[KODA_CLAUSE_MEMORY].why =
			"the sandbox looks at what all have, several times a second; files "
			"in TMPDIR are not counted, not even where /tmp is in memory";
	/* The kernel counts all processes of the user, the host's too. */
	if (!machine->cgroup)
		of[KODA_CLAUSE_PROCESS_COUNT] =
			koda_emulated("the sandbox counts the processes itself",
				      "start from a session that delegates a control group (v2) "
				      "with memory and pids");
	of[KODA_CLAUSE_CACHES] =
		koda_refused("package caches can be read, but not written", native);
	return true;
}

static int prepare(struct koda_launcher *launcher, struct koda_error *err)
{
	static char name[] = LAUNCHER;
	static char mode[] = KODA_STAGE2_LANDLOCK;
	char *const argv[] = { name, mode, NULL };
	char *const none[] = { NULL };
	const struct koda_ends *ends = &launcher->ends;
	koda_auto_buf struct koda_buf bytes = KODA_BUF_INIT(KODA_OP_PLAN_MAX);
	koda_auto_fd int filters = -1;
	struct koda_fdmap give[7];
	int r = koda_plan_fence_filters(&bytes, err);

	if (r == KODA_OK)
		r = koda_fd_sealed("koda-filters", bytes.ptr, bytes.len, &filters, err);
	if (r == KODA_OK)
		r = koda_fd_memory("koda-plan", &launcher->plan_fd, err);
	for (int i = 0; i < 3; i++)
		give[i] = (struct koda_fdmap){ ends->stream[i][1], i };
	give[3] = (struct koda_fdmap){ launcher->plan_fd, KODA_STAGE2_PLAN_FD };
	give[4] = (struct koda_fdmap){ ends->status[1], KODA_STAGE2_STATUS_FD };
	give[5] = (struct koda_fdmap){ ends->life[1], KODA_STAGE2_LIFE_FD };
	give[6] = (struct koda_fdmap){ filters, KODA_STAGE2_FILTERS_FD };
	if (r == KODA_OK)
		r = koda_proc_spawn(&launcher->proc, KODA_HELPER_DIR "/" LAUNCHER, argv, none, give,
				    KODA_ARRAY_LEN(give), err);
	koda_ends_close_theirs(&launcher->ends);
	return r;
}

const struct koda_backend koda_backend_landlock = { "landlock", judge, prepare,
						    koda_launcher_send_plan };
