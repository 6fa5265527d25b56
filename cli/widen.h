/* SPDX-License-Identifier: MIT */
/*
 * The options of policy show that allow more: hosts, directories that can be written, and holes in
 * hidden directories. No other command takes them. Denies and the floor still come first, and an
 * option that has no effect is noted on standard error.
 */
#ifndef KODA_CLI_WIDEN_H
#define KODA_CLI_WIDEN_H

#include "options.h"

#include <koda/project.h>

/* clang-format off */
#define CLI_WIDEN_OPTIONS                                                                          \
	{ "allow-domain", required_argument, NULL, CLI_OPT_ALLOW_DOMAIN },                         \
	{ "allow-read", required_argument, NULL, CLI_OPT_ALLOW_READ },                             \
	{ "allow-write", required_argument, NULL, CLI_OPT_ALLOW_WRITE }
/* clang-format on */

void cli_widen_clear(struct cli_widen *widen);

/* Takes one option of CLI_WIDEN_OPTIONS. Fails: INVALID, NOMEM. */
KODA_CHECK int cli_widen_take(struct cli_widen *widen, int option, const char *arg,
			      struct koda_error *err);
/* Adds what is not allowed yet to a policy that is not the project's yet. Errors name the option.
 * Fails: POLICY, SYS, LIMIT, NOMEM. */
KODA_CHECK int cli_widen_apply(const struct cli_widen *widen, struct koda_project *project,
			       struct koda_policy *policy, struct koda_error *err);
/* Notes on standard error what the project's policy still denies. Fails: as koda_rules_new. */
KODA_CHECK int cli_widen_tell(const struct cli_widen *widen, struct koda_project *project,
			      struct koda_error *err);

#endif
