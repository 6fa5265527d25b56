/* SPDX-License-Identifier: MIT */
/*
 * koda-sandbox-stage2, the launcher. Three processes run this program:
 *
 *   guardian  outside the sandbox: starts init, reserves names, watches the lifeline, cleans up
 *   init      pid 1 of the new namespaces: builds the view, reaps, passes signals on
 *   command   locks itself down, checks that it is locked down, executes the program
 *
 * Each has a folder. landlock/ has guardian and init of the backend without namespaces.
 *
 * T-21, T-26. main is the guardian's start. It closes every descriptor that the runner did not pass
 * on purpose, blocks all signals and becomes undumpable.
 */
#include "backend.h"
#include "fail.h"
#include "guardian/await.h"
#include "guardian/bwrap.h"
#include "guardian/cgroup.h"
#include "guardian/lifeline.h"
#include "guardian/native.h"
#include "init/inside.h"
#include "landlock/guardian.h"
#include "report.h"
#include "sys.h"
#include "wire/bwrap.h"
#include "wire/report.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>

/* Closes all descriptors above last; those of the launcher get FD_CLOEXEC. */
static void tidy_descriptors(unsigned int last)
{
	if (syscall(SYS_close_range, last + 1, ~0U, 0) < 0 ||
	    fcntl(KODA_STAGE2_STATUS_FD, F_SETFD, FD_CLOEXEC) < 0 ||
	    fcntl(KODA_STAGE2_LIFE_FD, F_SETFD, FD_CLOEXEC) < 0)
		stage2_fail(KODA_LAUNCH_CLOSE_FDS, "", errno);
}

/* Raises RLIMIT_NOFILE: placeholders and views need a descriptor for each repository. Init inherits
 * the limit; the command gets the plan's. */
static void raise_descriptor_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &limit); /* running out of descriptors fails later */
	}
}

int main(int argc, char **argv)
{
	const char *part = argc > 1 ? argv[1] : "";
	bool open_view = strcmp(part, KODA_STAGE2_OPEN) == 0;
	bool bwrap = open_view || strcmp(part, KODA_STAGE2_BWRAP) == 0;
	sigset_t all;

	if (strcmp(part, KODA_STAGE2_INSIDE) == 0 || strcmp(part, KODA_STAGE2_VIEWER) == 0) {
		stage2_fail_set_inside();
		stage2_inside_main(strcmp(part, KODA_STAGE2_VIEWER) == 0);
	}
	stage2_fail_set_tidy(stage2_await_fail);
	stage2_backend_is_landlock = strcmp(part, KODA_STAGE2_LANDLOCK) == 0;
	tidy_descriptors(bwrap                        ? KODA_BWRAP_ARGS_FD
			 : stage2_backend_is_landlock ? KODA_STAGE2_FILTERS_FD
						      : KODA_STAGE2_LIFE_FD);
	stage2_lifeline_hold_runner();
	(void)sigfillset(&all);
	if (sigprocmask(SIG_SETMASK, &all, NULL) < 0)
		stage2_fail(KODA_LAUNCH_BLOCK_SIGNALS, "", errno);
	(void)setsid(); /* signals of the terminal go to the runner only */
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		stage2_fail(KODA_LAUNCH_UNDUMPABLE, "", errno);
	stage2_fail_share();
	if (!stage2_backend_is_landlock)
		raise_descriptor_limit();
	if (stage2_backend_is_landlock)
		stage2_landlock_guard();
	else if (bwrap)
		stage2_bwrap_guard(open_view);
	else
		stage2_native_guard();
	/* The OOM killer has ended init, too, which would have reported the exit. */
	if (stage2_cgroup_report())
		(void)stage2_report_send(KODA_REPORT_EXITED, SIGKILL);
	stage2_await_tidy();
	stage2_bwrap_reap();
	return *stage2_fail_flag ? KODA_STAGE2_FAILED : 0;
}
