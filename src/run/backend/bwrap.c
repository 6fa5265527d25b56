/* SPDX-License-Identifier: MIT */
/*
 * The bwrap backend, for distributions that allow user namespaces to bubblewrap only. Bubblewrap
 * makes the namespaces; our launcher is the guardian outside and init inside, and makes the view.
 * Where init may not mount, bubblewrap makes the view too. Bubblewrap is found by a fixed list of
 * paths and executed by the descriptor that was checked, without an environment.
 *
 * Not enforced: protected names that are links (link_names), because bubblewrap cannot bind a link
 * onto itself. Caches are empty directories instead of copies.
 */
#include "plan/bwrap.h"

#include "base/error.h"
#include "base/fd.h"
#include "base/path.h"
#include "plan/fs_ops.h"
#include "run/backend/backend.h"
#include "run/backend/findings.h"
#include "run/project/fs_view.h"
#include "run/project/remedy.h"
#include "wire/bwrap.h"
#include "wire/report.h"

#include <sys/stat.h>
#include <unistd.h>

#define LAUNCHER "koda-sandbox-stage2"

static struct koda_finding judge_bubblewrap(const struct koda_machine *machine)
{
	switch (machine->bubblewrap) {
	case KODA_BUBBLEWRAP_MISSING:
		return koda_finding_refused("bubblewrap is not installed",
					    "install the package bubblewrap");
	case KODA_BUBBLEWRAP_FOREIGN:
		return koda_finding_refused("bubblewrap is not a program that only root can change",
					    "install the package bubblewrap again");
	case KODA_BUBBLEWRAP_THERE:
		break;
	}
	if (machine->userns == KODA_USERNS_FILTERED)
		return koda_finding_refused(
			"a system-call filter around this process forbids user namespaces",
			"start the container or service with a seccomp profile that allows "
			"clone, unshare and mount");
	if (machine->userns == KODA_USERNS_NONE)
		return koda_finding_refused(
			"user namespaces are switched off (user.max_user_namespaces is 0)",
			"ask the administrator for: sysctl user.max_user_namespaces=10000");
	return koda_finding_enforced("");
}

static bool judge(const struct koda_machine *machine, struct koda_findings *ret_findings)
{
	struct koda_finding obstacle = koda_findings_kernel(machine);
	struct koda_finding *of = ret_findings->clause;

	if (obstacle.enforcement != KODA_ENFORCEMENT_REFUSED)
		obstacle = judge_bubblewrap(machine);
	koda_findings_all(ret_findings, obstacle);
	if (obstacle.enforcement == KODA_ENFORCEMENT_REFUSED)
		return false;
	koda_findings_layers(machine, ret_findings);
	koda_findings_limits(machine, ret_findings);
	of[KODA_CLAUSE_LINK_NAMES] = koda_finding_refused(
		"a protected name is a link, and bubblewrap cannot hold a link in its place",
		"replace the link by what it leads to");
	of[KODA_CLAUSE_CACHES] =
		koda_finding_emulated("bubblewrap makes no overlays; caches are private "
				      "and empty",
				      "let koda-sandbox make namespaces itself");
	if (machine->open_views) {
		of[KODA_CLAUSE_WRITE_PROTECTED].reason =
			"views are not locked: no socket can be made "
			"in a tree of the host, so that "
			"no descriptor leaves one";
		of[KODA_CLAUSE_HIDDEN_READS].reason =
			"outside of writable trees; if the policy hides a file inside one, "
			"nothing runs; what the host mounts during the run can be seen";
		of[KODA_CLAUSE_SOCKETS].reason =
			"sockets outside of writable trees are hidden; if the host has a socket "
			"inside one, nothing runs";
		of[KODA_CLAUSE_PRIVATE_DIRS].reason = "the times of the host's harmless device "
						      "nodes can be set, as every user can";
		of[KODA_CLAUSE_WRITE_OUTSIDE].reason =
			"only Landlock refuses writes to what the host mounts during the run";
	}
	return true;
}

/* Seals the arguments that bubblewrap starts with, before there is a plan. */
static int seal_start(int *ret_fd, struct koda_error *err)
{
	koda_auto_buf struct koda_buf args = KODA_BUF_INIT(KODA_BWRAP_ARGS_MAX);
	int r = koda_bwrap_start(&args, err);

	return r < 0 ? r : koda_fd_sealed("koda-start", args.ptr, args.len, ret_fd, err);
}

static int fail_without_bubblewrap(enum koda_bubblewrap found, struct koda_error *err)
{
	bool missing = found == KODA_BUBBLEWRAP_MISSING;
	int r = koda_fail(err, KODA_E_UNSUPPORTED, 0, "%s",
			  missing ? "bubblewrap is not installed"
				  : "bubblewrap is not a program that only root can change");

	koda_remedy_add_for(err, missing ? KODA_FAILURE_BWRAP_MISSING : KODA_FAILURE_BWRAP_FOREIGN);
	return r;
}

static int prepare(struct koda_launcher *launcher, struct koda_error *err)
{
	static char name[] = LAUNCHER;
	static char part[] = KODA_STAGE2_BWRAP;
	static char part_open[] = KODA_STAGE2_OPEN;
	bool open_view = launcher->open_view || koda_machine_expects_open_views();
	char *const argv[] = { name, open_view ? part_open : part, NULL };
	char *const envp[] = { NULL };
	const struct koda_channels *channels = &launcher->channels;
	enum koda_bubblewrap found;
	koda_auto_fd int program = koda_machine_open_bubblewrap(&found);
	koda_auto_fd int start = -1;
	int r = program < 0 ? fail_without_bubblewrap(found, err)
			    : koda_fd_memory("koda-plan", &launcher->plan_fd, err);

	if (r == KODA_OK)
		r = koda_fd_memory("koda-bwrap", &launcher->args_fd, err);
	if (r == KODA_OK)
		r = seal_start(&start, err);
	if (r == KODA_OK) {
		const struct koda_fdmap give[] = {
			{ channels->stream[0][1], 0 },
			{ channels->stream[1][1], 1 },
			{ channels->stream[2][1], 2 },
			{ launcher->plan_fd, KODA_STAGE2_PLAN_FD },
			{ channels->status[1], KODA_STAGE2_STATUS_FD },
			{ channels->life[1], KODA_STAGE2_LIFE_FD },
			{ program, KODA_BWRAP_PROGRAM_FD },
			{ start, KODA_BWRAP_START_FD },
			{ launcher->args_fd, KODA_BWRAP_ARGS_FD },
		};

		r = koda_launcher_spawn(launcher, KODA_HELPER_DIR "/" LAUNCHER, argv, envp, give,
					KODA_ARRAY_LEN(give), err);
	}
	koda_channels_close_theirs(&launcher->channels);
	return r;
}

/* Tells whether bubblewrap can reach the path. As root of a user namespace it has only the rights
 * of "others" in directories of other users. What it cannot reach, the command cannot reach either;
 * init checks that. */
static bool is_reachable(const char *path)
{
	char above[KODA_PATH_MAX + 1];

	if (geteuid() != 0)
		return true; /* bubblewrap has the runner's rights */
	for (size_t i = 1; path[i]; i++) {
		struct stat st;

		if (path[i] != '/' || i > KODA_PATH_MAX)
			continue;
		memcpy(above, path, i);
		above[i] = '\0';
		if (lstat(above, &st) < 0 ||
		    !((st.st_mode & 0001) || (st.st_uid == 0 && (st.st_mode & 0100)) ||
		      (st.st_uid == 0 && st.st_gid == 0)))
			return false;
	}
	return true;
}

/* Leaves masks out whose target is gone, because bubblewrap would create it as a mount point, and
 * masks whose target it cannot reach. */
static int is_for_bubblewrap(const struct koda_op *op, bool *ret_is, struct koda_error *err)
{
	struct koda_fs_stat look = { .type = KODA_FILE_OTHER };
	int r = KODA_OK;

	*ret_is = true;
	if (op->kind != KODA_OP_MASK)
		return KODA_OK;
	if (op->flags & KODA_OP_FLEETING)
		r = koda_fs_view_host.look(koda_fs_view_host.ctx, op->text1.ptr, &look, err);
	*ret_is = look.type != KODA_FILE_MISSING && look.type != KODA_FILE_LINK &&
		  is_reachable(op->text1.ptr);
	return r;
}

/* Renders the arguments of bubblewrap without the masks that it cannot make. The plan, with which
 * init compares the view, stays whole. */
static int render(const struct koda_plan *plan, struct koda_buf *args, struct koda_error *err)
{
	struct koda_plan rest = KODA_PLAN_INIT; /* texts are borrowed from plan */
	int r = KODA_OK;

	rest.lines = calloc(plan->count + 1, sizeof(*rest.lines));
	if (!rest.lines)
		return koda_fail_nomem(err);
	for (size_t i = 0; i < plan->count && r == KODA_OK; i++) {
		bool wanted;

		r = is_for_bubblewrap(&plan->lines[i].op, &wanted, err);
		if (wanted)
			rest.lines[rest.count++] = plan->lines[i];
	}
	if (r == KODA_OK)
		r = koda_bwrap_args(&rest, args, err);
	free(rest.lines);
	return r;
}

static int launch(struct koda_launcher *launcher, const struct koda_plan *plan,
		  struct koda_error *err)
{
	koda_auto_buf struct koda_buf args = KODA_BUF_INIT(KODA_BWRAP_ARGS_MAX);
	struct koda_plan divided = KODA_PLAN_INIT;
	int r = koda_bwrap_divide(plan, &divided, err);

	if (r < 0)
		return r;
	/* The arguments are used if init may not mount. */
	r = render(&divided, &args, err);
	if (r == KODA_OK)
		r = koda_fd_seal(launcher->args_fd, args.ptr, args.len, err);
	koda_fd_close(&launcher->args_fd);
	if (r == KODA_OK)
		r = koda_launcher_send_plan(launcher, &divided, err);
	free(divided.lines);
	return r;
}

const struct koda_backend koda_backend_bwrap = {
	.name = "bwrap",
	.is_sandbox = true,
	.has_view = true,
	.reports = true,
	.few_mounts = true,
	.awaits_each_launch = true,
	.judge = judge,
	.prepare = prepare,
	.launch = launch,
};
