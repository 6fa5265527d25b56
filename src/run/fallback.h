/* SPDX-License-Identifier: MIT */
/*
 * T-48. Backends of --backend auto: native, then bwrap, then landlock, and if none works nothing
 * runs. The first one is simply used. Its launcher reports that the namespaces exist before it
 * needs the plan, so waiting for that report costs nothing. The others are tried with the command's
 * plan and a program that does nothing.
 */
#ifndef KODA_RUN_FALLBACK_H
#define KODA_RUN_FALLBACK_H

#include "run/command.h"

/* Launches a command, and waits for the launcher's first report where koda_fallback_awaits says so.
 * Launches again if the project has changed while the view was made. Returns 1 if the backend does
 * not work here and the next one is to be tried; then nothing ran. Fails: as koda_command_launch,
 * SYS. */
KODA_CHECK int koda_fallback_start_retrying(struct koda_sandbox *sandbox,
					    const struct koda_command_options *options,
					    struct koda_command **ret_command,
					    struct koda_error *err);

/* Tells whether the launcher's first report has to be awaited. */
bool koda_fallback_awaits(const struct koda_sandbox *sandbox);
/* Waits for the launcher's first report. Returns 1 if this machine is not fit for the backend and
 * the caller has not named it. Fails: SYS if the project has changed meanwhile. In both cases
 * nothing ran and the command is freed. */
KODA_CHECK int koda_fallback_await(struct koda_command **command, struct koda_error *err);
/* Fails unless outcome is that of a `true` that succeeded. Fails: as its launcher did, CHILD. */
KODA_CHECK int koda_fallback_learn(const struct koda_outcome *outcome, struct koda_error *err);
/* Forgets which backend works: the next command begins with the first. NULL is fine. */
void koda_fallback_forget(struct koda_sandbox *sandbox);
/* Chooses the next backend that works here and enforces enough, by running the command's plan with
 * a program that does nothing. why: what keeps the first from working. Fails: UNSUPPORTED, and the
 * sandbox has the first backend again. */
KODA_CHECK int koda_fallback_descend(struct koda_sandbox *sandbox,
				     const struct koda_command_options *options,
				     const struct koda_error *why, struct koda_error *err);

#endif
