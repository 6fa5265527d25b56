/* SPDX-License-Identifier: MIT */
/*
 * The native backend: koda-sandbox-stage2 makes the namespaces and the view. It is started before
 * the plan is made, because creating namespaces takes about as long as making a plan.
 */
#include "base/error.h"
#include "base/fd.h"
#include "run/backend/backend.h"
#include "run/backend/findings.h"
#include "wire/report.h"

#define LAUNCHER "koda-sandbox-stage2"

/* Refuses, with the reason, where user namespaces cannot be created. */
static struct koda_finding judge_userns(enum koda_userns userns)
{
	switch (userns) {
	case KODA_USERNS_FILTERED:
		return koda_finding_refused(
			"a system-call filter around this process forbids user namespaces",
			"start the container or service with a seccomp profile that allows "
			"clone3, unshare and mount");
	case KODA_USERNS_NONE:
		return koda_finding_refused(
			"user namespaces are switched off (user.max_user_namespaces is 0)",
			"ask the administrator for: sysctl user.max_user_namespaces=10000");
	case KODA_USERNS_CLOSED:
		return koda_finding_refused("user namespaces are reserved for root "
					    "(kernel.unprivileged_userns_clone is 0)",
					    "ask the administrator for: sysctl "
					    "kernel.unprivileged_userns_clone=1");
	case KODA_USERNS_APPARMOR:
		return koda_finding_refused(
			"AppArmor restricts user namespaces "
			"(kernel.apparmor_restrict_unprivileged_userns is 1)",
			"ask the administrator to install the AppArmor profile " KODA_PROFILE_DIR
			"/" LAUNCHER ", or for: sysctl "
			"kernel.apparmor_restrict_unprivileged_userns=0");
	case KODA_USERNS_FREE:
		break;
	}
	return koda_finding_enforced("");
}

static bool judge(const struct koda_machine *machine, struct koda_findings *ret_findings)
{
	struct koda_finding obstacle = koda_findings_kernel(machine);

	if (obstacle.enforcement != KODA_ENFORCEMENT_REFUSED)
		obstacle = judge_userns(machine->userns);
	koda_findings_all(ret_findings, obstacle);
	if (obstacle.enforcement == KODA_ENFORCEMENT_REFUSED)
		return false;
	koda_findings_layers(machine, ret_findings);
	koda_findings_limits(machine, ret_findings);
	if (!machine->overlay)
		ret_findings->clause[KODA_CLAUSE_CACHES] = koda_finding_emulated(
			"there is no overlay file system; caches are private and empty",
			"load the overlay module");
	return true;
}

static int prepare(struct koda_launcher *launcher, struct koda_error *err)
{
	static char name[] = LAUNCHER;
	char *const argv[] = { name, NULL };
	char *const envp[] = { NULL };
	const struct koda_channels *channels = &launcher->channels;
	int r = koda_fd_memory("koda-plan", &launcher->plan_fd, err);
	const struct koda_fdmap give[] = {
		{ channels->stream[0][1], 0 },
		{ channels->stream[1][1], 1 },
		{ channels->stream[2][1], 2 },
		{ launcher->plan_fd, KODA_STAGE2_PLAN_FD },
		{ channels->status[1], KODA_STAGE2_STATUS_FD },
		{ channels->life[1], KODA_STAGE2_LIFE_FD },
	};

	if (r == KODA_OK)
		r = koda_launcher_spawn(launcher, KODA_HELPER_DIR "/" LAUNCHER, argv, envp, give,
					KODA_ARRAY_LEN(give), err);
	koda_channels_close_theirs(&launcher->channels);
	return r;
}

const struct koda_backend koda_backend_native = {
	.name = "native",
	.is_sandbox = true,
	.has_view = true,
	.reports = true,
	.has_fallback = true,
	.judge = judge,
	.prepare = prepare,
	.launch = koda_launcher_send_plan,
};
