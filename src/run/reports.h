/* SPDX-License-Identifier: MIT */
/* Denials that the launcher reports: it sees which calls the view refuses. */
#ifndef KODA_RUN_REPORTS_H
#define KODA_RUN_REPORTS_H

#include "run/sandbox.h"
#include "wire/report.h"

/* Returns why the launcher does not report denials of a command; NULL if it does. */
const char *koda_reports_obstacle(const struct koda_sandbox *sandbox,
				  const struct koda_command_options *options);

/* Takes the denials that the launcher has reported. Those that are malformed, or whose path the
 * rules do not deny, are ignored. Returns true if a report of another kind comes next, or the
 * launcher is gone. */
bool koda_reports_drain(struct koda_command *command);

#endif
