/* SPDX-License-Identifier: MIT */
/*
 * The native backend: our own launcher makes the namespaces and the view. It is started before the
 * plan is made and creates the namespaces meanwhile; both take about as long.
 */
#include "run/backend.h"

#include "base/diag.h"
#include "base/fd.h"
#include "run/judge.h"
#include "wire/report.h"

#define LAUNCHER "koda-sandbox-stage2"

/* Why there can be no user namespace. */
static struct koda_finding judge_userns(enum koda_userns userns)
{
	switch (userns) {
	case KODA_USERNS_FILTERED:
		return koda_refused(
			"a system-call filter around this process forbids user namespaces",
			"start the container or service with a seccomp profile that allows "
			"clone3, unshare and mount");
	case KODA_USERNS_NONE:
		return koda_refused(
			"user namespaces are switched off (user.max_user_namespaces is 0)",
			"ask the administrator for: sysctl user.max_user_namespaces=10000");
	case KODA_USERNS_CLOSED:
		return koda_refused("user namespaces are reserved for root "
				    "(kernel.unprivileged_userns_clone is 0)",
				    "ask the administrator for: sysctl "
				    "kernel.unprivileged_userns_clone=1");
	case KODA_USERNS_APPARMOR:
		return koda_refused(
			"AppArmor restricts user namespaces "
			"(kernel.apparmor_restrict_unprivileged_userns is 1)",
			"ask the administrator to install the AppArmor profile " KODA_PROFILE_DIR
			"/" LAUNCHER ", or for: sysctl "
			"kernel.apparmor_restrict_unprivileged_userns=0");
	case KODA_USERNS_FREE:
		break;
	}
	return koda_enforced("");
}

static bool judge(const struct koda_machine *machine, struct koda_findings *ret_findings)
{
	struct koda_finding obstacle = koda_judge_kernel(machine);

	if (obstacle.grip != KODA_GRIP_REFUSED)
		obstacle = judge_userns(machine->userns);
	koda_judge_all(ret_findings, obstacle);
	if (obstacle.grip == KODA_GRIP_REFUSED)
		return false;
	koda_judge_layers(machine, ret_findings);
	koda_judge_limits(machine, ret_findings);
	if (!machine->overlay)
		ret_findings->of[KODA_CLAUSE_CACHES] = koda_emulated(
			"there is no overlay file system; caches are private and empty",
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

const struct koda_backend koda_backend_native = { "native", judge, prepare,
						  koda_launcher_send_plan };
