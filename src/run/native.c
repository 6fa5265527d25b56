/* SPDX-License-Identifier: MIT */
/*
 * The native backend: our own launcher makes the namespaces and the view. It is started before the
 * plan is made and creates the namespaces meanwhile; both take about as long.
 */
#include "run/backend.h"

#include "base/diag.h"
#include "base/fd.h"
#include "wire/report.h"

#include <errno.h>
#include <sys/socket.h>

#define LAUNCHER "koda-sandbox-stage2"

/* What Landlock takes part in. */
#define ABI_ANY      1 /* cannot tell moves between directories apart, and refuses them all */
#define ABI_MOVES    2
#define ABI_TRUNCATE 3
#define ABI_PORTS    4

#define KERNEL_REMEDY "use a kernel of version 5.13 or later"

static struct koda_finding refused(const char *why, const char *remedy)
{
	return (struct koda_finding){ KODA_GRIP_REFUSED, why, remedy };
}

static struct koda_finding emulated(const char *why, const char *remedy)
{
	return (struct koda_finding){ KODA_GRIP_EMULATED, why, remedy };
}

static struct koda_finding enforced(const char *why)
{
	return (struct koda_finding){ KODA_GRIP_ENFORCED, why, "" };
}

/* Why there can be no user namespace. */
static struct koda_finding judge_userns(enum koda_userns userns)
{
	switch (userns) {
	case KODA_USERNS_FILTERED:
		return refused("a system-call filter around this process forbids user namespaces",
			       "start the container or service with a seccomp profile that allows "
			       "clone3, unshare and mount");
	case KODA_USERNS_NONE:
		return refused("user namespaces are switched off (user.max_user_namespaces is 0)",
			       "ask the administrator for: sysctl user.max_user_namespaces=10000");
	case KODA_USERNS_CLOSED:
		return refused("user namespaces are reserved for root "
			       "(kernel.unprivileged_userns_clone is 0)",
			       "ask the administrator for: sysctl "
			       "kernel.unprivileged_userns_clone=1");
	case KODA_USERNS_APPARMOR:
		return refused("AppArmor restricts user namespaces "
			       "(kernel.apparmor_restrict_unprivileged_userns is 1)",
			       "ask the administrator for an AppArmor profile with \"userns,\" "
			       "for " KODA_HELPER_DIR "/" LAUNCHER ", or for: sysctl "
			       "kernel.apparmor_restrict_unprivileged_userns=0");
	case KODA_USERNS_FREE:
		break;
	}
	return enforced("");
}

static struct koda_finding judge_landlock(const struct koda_machine *machine)
{
	if (machine->landlock_abi >= ABI_TRUNCATE)
		return enforced("");
	if (machine->landlock_abi >= ABI_MOVES)
		return enforced("of this kernel's Landlock truncation is not a part; "
				"the view alone holds it");
	if (machine->landlock_abi >= ABI_ANY)
		return emulated("this kernel's Landlock refuses every move between directories",
				"use a kernel of version 5.19 or later");
	if (machine->landlock_errno == EOPNOTSUPP)
		return refused("Landlock is switched off",
			       "add landlock to the lsm= parameter of the kernel");
	if (machine->landlock_errno == ENOSYS)
		return refused("the kernel has no Landlock",
			       "use a kernel of version 5.13 or later that is built with "
			       "CONFIG_SECURITY_LANDLOCK");
	return refused("a system-call filter around this process forbids Landlock",
		       "start the container or service with a seccomp profile that allows the "
		       "landlock calls");
}

/* What keeps the launcher from making any sandbox; enforced if nothing does. */
static struct koda_finding find_obstacle(const struct koda_machine *machine)
{
	if (!machine->modern)
		return refused("the kernel lacks openat2, close_range or mount_setattr",
			       KERNEL_REMEDY);
	if (!machine->seccomp_filter)
		return refused("the kernel cannot filter system calls",
			       "use a kernel that is built with CONFIG_SECCOMP_FILTER");
	if (machine->landlock_abi < ABI_ANY)
		return judge_landlock(machine);
	return judge_userns(machine->userns);
}

static bool judge(const struct koda_machine *machine, struct koda_findings *ret_findings)
{
	const struct koda_finding obstacle = find_obstacle(machine);
	struct koda_finding *of = ret_findings->of;

	for (size_t i = 0; i < KODA_CLAUSE_COUNT; i++)
		of[i] = obstacle;
	if (obstacle.grip == KODA_GRIP_REFUSED)
		return false;
	of[KODA_CLAUSE_SECOND_LAYER] = judge_landlock(machine);
	if (machine->landlock_abi < ABI_PORTS)
		of[KODA_CLAUSE_LOCAL_BINDING] =
			refused("this kernel's Landlock knows no ports; a command could listen on "
				"its own loopback device",
				"use a kernel of version 6.7 or later");
	if (!machine->cgroup)
		of[KODA_CLAUSE_MEMORY] = emulated(
			"the kernel limits the data of each process, the sandbox their sum",
			"start from a session that delegates a control group (v2) with "
			"memory and pids, as systemd-run --user --scope -p Delegate=yes does");
	if (machine->as_root && !machine->cgroup)
		of[KODA_CLAUSE_PROCESS_COUNT] =
			emulated("the kernel does not count root's processes; the sandbox does",
				 "run as an ordinary user");
	of[KODA_CLAUSE_CPU_TIME].why = "for each process";
	if (!machine->overlay)
		of[KODA_CLAUSE_CACHES] =
			emulated("there is no overlay file system; caches are private and empty",
				 "load the overlay module");
	return true;
}

static int prepare(struct koda_launcher *launcher, struct koda_error *err)
{
	static char name[] = LAUNCHER;
	char *const argv[] = { name, NULL };
	char *const envp[] = { NULL };
	const struct koda_ends *ends = &launcher->ends;
	int r = koda_fd_memory("koda-plan", &launcher->plan_fd, err);
	const struct koda_fdmap give[] = {
		{ ends->stream[0][1], 0 },
		{ ends->stream[1][1], 1 },
		{ ends->stream[2][1], 2 },
		{ launcher->plan_fd, KODA_STAGE2_PLAN_FD },
		{ ends->status[1], KODA_STAGE2_STATUS_FD },
		{ ends->life[1], KODA_STAGE2_LIFE_FD },
	};

	if (r == KODA_OK)
		r = koda_proc_spawn(&launcher->proc, KODA_HELPER_DIR "/" LAUNCHER, argv, envp, give,
				    KODA_ARRAY_LEN(give), err);
	koda_ends_close_theirs(&launcher->ends);
	return r;
}

static int launch(struct koda_launcher *launcher, const struct koda_plan *plan,
		  struct koda_error *err)
{
	koda_auto_buf struct koda_buf bytes = KODA_BUF_INIT(KODA_OP_PLAN_MAX);
	const unsigned char message = KODA_LIFE_PLAN;
	int r = koda_plan_encode(plan, &bytes, err);

	if (r == KODA_OK)
		r = koda_fd_seal(launcher->plan_fd, bytes.ptr, bytes.len, err);
	koda_fd_close(&launcher->plan_fd);
	/* If it is gone already, its report says why. */
	if (r == KODA_OK && send(launcher->ends.life[0], &message, 1, MSG_NOSIGNAL) < 0 &&
	    errno != EPIPE && errno != ECONNRESET)
		r = koda_fail(err, KODA_E_SYS, errno, "cannot hand the plan over");
	return r;
}

const struct koda_backend koda_backend_native = { "native", judge, prepare, launch };
