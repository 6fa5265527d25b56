/* SPDX-License-Identifier: MIT */
/*
 * The bwrap backend: bubblewrap makes the namespaces, where distributions let it and not us; our
 * launcher does the rest, outside as guardian and inside as first process. Where that may not mount
 * either, bubblewrap makes the view too. Bubblewrap is found by a fixed list of paths and executed
 * by the descriptor that was looked at, without an environment.
 *
 * What it cannot hold: a link that is bound onto itself (link_names), and copies of caches, which
 * are empty directories instead.
 */
#include "run/backend.h"

#include "base/diag.h"
#include "base/fd.h"
#include "base/path.h"
#include "plan/bwrap.h"
#include "run/judge.h"
#include "run/world.h"
#include "wire/bwrap.h"
#include "wire/report.h"

#include <sys/stat.h>
#include <unistd.h>

#define LAUNCHER "koda-sandbox-stage2"

static struct koda_finding judge_bubblewrap(const struct koda_machine *machine)
{
	switch (machine->bubblewrap) {
	case KODA_BUBBLEWRAP_MISSING:
		return koda_refused("bubblewrap is not installed",
				    "install the package bubblewrap");
	case KODA_BUBBLEWRAP_FOREIGN:
		return koda_refused("bubblewrap is not root's alone, or no program",
				    "install the package bubblewrap again");
	case KODA_BUBBLEWRAP_THERE:
		break;
	}
	if (machine->userns == KODA_USERNS_FILTERED)
		return koda_refused(
			"a system-call filter around this process forbids user namespaces",
			"start the container or service with a seccomp profile that allows "
			"clone, unshare and mount");
	if (machine->userns == KODA_USERNS_NONE)
		return koda_refused(
			"user namespaces are switched off (user.max_user_namespaces is 0)",
			"ask the administrator for: sysctl user.max_user_namespaces=10000");
	return koda_enforced("");
}

static bool judge(const struct koda_machine *machine, struct koda_findings *ret_findings)
{
	struct koda_finding obstacle = koda_judge_kernel(machine);
	struct koda_finding *of = ret_findings->of;

	if (obstacle.grip != KODA_GRIP_REFUSED)
		obstacle = judge_bubblewrap(machine);
	koda_judge_all(ret_findings, obstacle);
	if (obstacle.grip == KODA_GRIP_REFUSED)
		return false;
	koda_judge_layers(machine, ret_findings);
	koda_judge_limits(machine, ret_findings);
	of[KODA_CLAUSE_LINK_NAMES] = koda_refused(
		"a protected name is a link, and bubblewrap cannot hold a link in its place",
		"replace the link by what it leads to");
	of[KODA_CLAUSE_CACHES] = koda_emulated("bubblewrap has no copies; caches are private and "
					       "empty",
					       "let koda-sandbox make namespaces itself");
	if (machine->open_views) {
		of[KODA_CLAUSE_WRITE_PROTECTED].why = "views are not locked: no socket can be made "
						      "in a tree of the host, so that "
						      "no descriptor leaves one";
		of[KODA_CLAUSE_HIDDEN_READS].why =
			"outside the trees that can be written; if anything inside one is to be "
			"hidden, nothing runs; what the host mounts meanwhile can be seen";
		of[KODA_CLAUSE_SOCKETS].why =
			"those outside the trees that can be written are hidden; if the host has "
			"one inside, nothing runs";
		of[KODA_CLAUSE_PRIVATE_DIRS].why =
			"the times of the host's harmless device nodes can be set, as by anybody";
		of[KODA_CLAUSE_WRITE_OUTSIDE].why =
			"of what the host mounts meanwhile Landlock alone keeps writes away";
	}
	return true;
}

/* What bubblewrap begins with while there is no plan. */
static int seal_start(int *ret_fd, struct koda_error *err)
{
	koda_auto_buf struct koda_buf args = KODA_BUF_INIT(KODA_BWRAP_ARGS_MAX);
	int r = koda_bwrap_start(&args, err);

	return r < 0 ? r : koda_fd_sealed("koda-start", args.ptr, args.len, ret_fd, err);
}

static int prepare(struct koda_launcher *launcher, struct koda_error *err)
{
	static char name[] = LAUNCHER;
	static char part[] = KODA_STAGE2_BWRAP;
	static char part_open[] = KODA_STAGE2_OPEN;
	bool open_view = launcher->open_view || koda_machine_expects_open_views();
	char *const argv[] = { name, open_view ? part_open : part, NULL };
	char *const envp[] = { NULL };
	const struct koda_ends *ends = &launcher->ends;
	enum koda_bubblewrap found;
	koda_auto_fd int program = koda_machine_open_bubblewrap(&found);
	koda_auto_fd int start = -1;
	int r = program < 0 ? koda_fail(err, KODA_E_UNSUPPORTED, 0,
					found == KODA_BUBBLEWRAP_MISSING
						? "bubblewrap is not installed"
						: "bubblewrap is not root's alone")
			    : koda_fd_memory("koda-plan", &launcher->plan_fd, err);

	if (r == KODA_OK)
		r = koda_fd_memory("koda-bwrap", &launcher->args_fd, err);
	if (r == KODA_OK)
		r = seal_start(&start, err);
	if (r == KODA_OK) {
		const struct koda_fdmap give[] = {
			{ ends->stream[0][1], 0 },
			{ ends->stream[1][1], 1 },
			{ ends->stream[2][1], 2 },
			{ launcher->plan_fd, KODA_STAGE2_PLAN_FD },
			{ ends->status[1], KODA_STAGE2_STATUS_FD },
			{ ends->life[1], KODA_STAGE2_LIFE_FD },
			{ program, KODA_BWRAP_PROGRAM_FD },
			{ start, KODA_BWRAP_START_FD },
			{ launcher->args_fd, KODA_BWRAP_ARGS_FD },
		};

		r = koda_proc_spawn(&launcher->proc, KODA_HELPER_DIR "/" LAUNCHER, argv, envp, give,
				    KODA_ARRAY_LEN(give), err);
	}
	koda_ends_close_theirs(&launcher->ends);
	return r;
}

/* Can bubblewrap get there? As root of a user namespace it has no more rights than others in
 * directories of other users. What it cannot reach, the command cannot either; that is checked
 * inside. */
static bool is_reachable(const char *path)
{
	char above[KODA_PATH_MAX + 1];

	if (geteuid() != 0)
		return true; /* whoever looks has the same rights as bubblewrap */
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

/* Masks for what has gone meanwhile are not bubblewrap's business: it would make something, to have
 * a place for them. Nor are those that it cannot get to. */
static int is_for_bubblewrap(const struct koda_op *op, bool *ret_is, struct koda_error *err)
{
	struct koda_look look = { .thing = KODA_THING_OTHER };
	int r = KODA_OK;

	*ret_is = true;
	if (op->kind != KODA_OP_MASK)
		return KODA_OK;
	if (op->flags & KODA_OP_FLEETING)
		r = koda_world_here.look(koda_world_here.ctx, op->text1.ptr, &look, err);
	*ret_is = look.thing != KODA_THING_MISSING && look.thing != KODA_THING_LINK &&
		  is_reachable(op->text1.ptr);
	return r;
}

/* The arguments are for what is there; the plan, which they are compared with inside, stays whole.
 */
static int render(const struct koda_plan *plan, struct koda_buf *args, struct koda_error *err)
{
	struct koda_plan rest = KODA_PLAN_INIT; /* the texts stay the plan's */
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
	/* For where the launcher may not mount. */
	r = render(&divided, &args, err);
	if (r == KODA_OK)
		r = koda_fd_seal(launcher->args_fd, args.ptr, args.len, err);
	koda_fd_close(&launcher->args_fd);
	if (r == KODA_OK)
		r = koda_launcher_send_plan(launcher, &divided, err);
	free(divided.lines);
	return r;
}

const struct koda_backend koda_backend_bwrap = { "bwrap", judge, prepare, launch };
