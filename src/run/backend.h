/* SPDX-License-Identifier: MIT */
/*
 * A way to carry out a plan. Every backend gets the same plan; what it cannot hold it says, clause
 * by clause, and nothing it cannot hold is left out silently.
 */
#ifndef KODA_RUN_BACKEND_H
#define KODA_RUN_BACKEND_H

#include "base/proc.h"
#include "plan/plan.h"
#include "run/ends.h"
#include "run/machine.h"

#include <koda/clause.h>
#include <koda/run.h>

struct koda_backend;

/* The process that runs one command, from before there is a plan for it. */
struct koda_launcher {
	const struct koda_backend *backend;
	struct koda_proc proc;
	struct koda_ends ends;
	int plan_fd;    /* owned; -1: none */
	int args_fd;    /* the same */
	bool open_view; /* the last view of this backend could not be locked; a guess, for speed */
	uint32_t wall_seconds; /* that the command may take, or KODA_LIFE_FOREVER */
};

#define KODA_LAUNCHER_INIT                                                                         \
	{                                                                                          \
		.proc = KODA_PROC_INIT, .ends = KODA_ENDS_INIT, .plan_fd = -1, .args_fd = -1       \
	}

struct koda_backend {
	const char *name;
	/* What each clause gets from this backend on such a machine; pure. False if the backend
	 * cannot work there at all; every clause is then refused for that reason. */
	bool (*judge)(const struct koda_machine *machine, struct koda_findings *ret_findings);
	/* Starts what needs no plan, while that is still being made; NULL: nothing. Fails: SYS,
	 * LIMIT. */
	int (*prepare)(struct koda_launcher *launcher, struct koda_error *err);
	/* Hands the plan over. Fails: SYS, LIMIT, NOMEM; then nothing runs. */
	int (*launch)(struct koda_launcher *launcher, const struct koda_plan *plan,
		      struct koda_error *err);
};

extern const struct koda_backend koda_backend_native;
extern const struct koda_backend koda_backend_landlock;
extern const struct koda_backend koda_backend_bwrap;
extern const struct koda_backend koda_backend_none; /* no sandbox at all */

/* The backend of that kind, which is not auto; NULL if this release has none. */
const struct koda_backend *koda_backend_of(enum koda_backend_kind kind);

/* launcher must be KODA_LAUNCHER_INIT, but for open_view. */
KODA_CHECK int koda_launcher_prepare(struct koda_launcher *launcher,
				     const struct koda_backend *backend, struct koda_error *err);
KODA_CHECK int koda_launcher_launch(struct koda_launcher *launcher, const struct koda_plan *plan,
				    struct koda_error *err);
/* For backends whose launcher reads a plan: seals it and says so. Fails: SYS, LIMIT, NOMEM. */
KODA_CHECK int koda_launcher_send_plan(struct koda_launcher *launcher, const struct koda_plan *plan,
				       struct koda_error *err);
/* Ends whatever was started. */
void koda_launcher_clear(struct koda_launcher *launcher);

/* How long a guardian may take to end everything. */
#define KODA_GUARDIAN_NS 5000000000ULL

#endif
