/* SPDX-License-Identifier: MIT */
/*
 * The launcher process of one command, as the host knows it. It is started before the command's
 * plan is made, creates namespaces meanwhile, and then waits for the plan. Later it is the
 * guardian.
 */
#ifndef KODA_RUN_BACKEND_LAUNCHER_H
#define KODA_RUN_BACKEND_LAUNCHER_H

#include "base/proc.h"
#include "plan/plan.h"
#include "run/backend/channels.h"

struct koda_backend;

struct koda_launcher {
	const struct koda_backend *backend; /* NULL: there is no launcher */
	struct koda_proc proc;
	struct koda_channels channels;
	int plan_fd;    /* owned; memory file for the plan, -1: none */
	int args_fd;    /* owned; memory file for bubblewrap's arguments, -1: none */
	bool open_view; /* the last view of this backend could not be locked; a hint, for speed */
	uint32_t wall_seconds; /* wall time of the command, or KODA_LIFE_FOREVER */
};

#define KODA_LAUNCHER_INIT                                                                         \
	{                                                                                          \
		.proc = KODA_PROC_INIT, .channels = KODA_CHANNELS_INIT, .plan_fd = -1,             \
		.args_fd = -1                                                                      \
	}

/* Starts a launcher of that backend. launcher must be KODA_LAUNCHER_INIT, but for open_view. Fails:
 * SYS, LIMIT, UNSUPPORTED; then launcher is cleared. */
KODA_CHECK int koda_launcher_prepare(struct koda_launcher *launcher,
				     const struct koda_backend *backend, struct koda_error *err);
/* Starts the program of a launcher: koda_proc_spawn, with a remedy in the error. For backends. */
KODA_CHECK int koda_launcher_spawn(struct koda_launcher *launcher, const char *path,
				   char *const argv[], char *const envp[],
				   const struct koda_fdmap *give, size_t count,
				   struct koda_error *err);
/* Passes the plan to the launcher. Fails: SYS, LIMIT, NOMEM; then nothing runs. */
KODA_CHECK int koda_launcher_launch(struct koda_launcher *launcher, const struct koda_plan *plan,
				    struct koda_error *err);
/* Seals the plan into plan_fd and sends KODA_LIFE_PLAN. For backends whose launcher reads a plan.
 * Fails: SYS, LIMIT, NOMEM. */
KODA_CHECK int koda_launcher_send_plan(struct koda_launcher *launcher, const struct koda_plan *plan,
				       struct koda_error *err);
/* Closes the lifeline and waits for the guardian to clean up; kills it after KODA_GUARDIAN_NS. */
void koda_launcher_clear(struct koda_launcher *launcher);

/* How long a guardian may take to kill the command's processes and clean up. */
#define KODA_GUARDIAN_NS 5000000000ULL

#endif
