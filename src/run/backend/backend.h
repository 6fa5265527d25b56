/* SPDX-License-Identifier: MIT */
/*
 * A backend is a way to carry out a plan: native, bwrap, landlock, or none. Every backend gets the
 * whole plan, and states for each clause whether it enforces it (judge). The table in backend.c
 * lists the backends; other files ask for the traits below.
 */
#ifndef KODA_RUN_BACKEND_BACKEND_H
#define KODA_RUN_BACKEND_BACKEND_H

#include "run/backend/launcher.h"
#include "run/backend/machine.h"

#include <koda/clause.h>
#include <koda/sandbox.h>

struct koda_backend {
	const char *name;
	/* Traits. */
	bool is_sandbox;         /* confines the command at all */
	bool has_view;           /* the command runs in a mount namespace made from the plan */
	bool reports;            /* init can report calls that the view refuses */
	bool brokered_connect;   /* init performs connect() for the command */
	bool needs_scratch;      /* the command's temporary directory is below the host's /tmp */
	bool few_mounts;         /* takes few mounts: bubblewrap 0.8 reads at most 9000 arguments */
	bool awaits_each_launch; /* a launch can fail because a path has changed since the plan */
	bool has_fallback; /* if it fails with --backend auto, the next of the table is tried */
	/* Tells how each clause is enforced on such a machine; pure. False if the backend cannot
	 * work there at all; every clause is then refused for that reason. */
	bool (*judge)(const struct koda_machine *machine, struct koda_findings *ret_findings);
	/* Starts the launcher, before there is a plan; NULL: launch does. Fails: SYS, LIMIT,
	 * UNSUPPORTED. */
	int (*prepare)(struct koda_launcher *launcher, struct koda_error *err);
	/* Gives the plan to the launcher. Fails: SYS, LIMIT, NOMEM; then nothing runs. */
	int (*launch)(struct koda_launcher *launcher, const struct koda_plan *plan,
		      struct koda_error *err);
};

extern const struct koda_backend koda_backend_native;
extern const struct koda_backend koda_backend_landlock;
extern const struct koda_backend koda_backend_bwrap;
extern const struct koda_backend koda_backend_none; /* no sandbox at all */

/* Returns the backend of a kind; NULL for KODA_BACKEND_AUTO and for kinds that this release does
 * not have. */
const struct koda_backend *koda_backend_of(enum koda_backend_kind kind);
/* Returns the backend that runs commands without a sandbox. */
const struct koda_backend *koda_backend_unsandboxed(void);

#endif
