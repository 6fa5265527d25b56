/* SPDX-License-Identifier: MIT */
/*
 * T-04. --env and --env-secret: variables that a person hands through by name. What looks like a
 * credential passes by --env-secret only, so that no list of names that was copied from elsewhere
 * hands one through unseen.
 */
#ifndef KODA_CLI_VARIABLES_H
#define KODA_CLI_VARIABLES_H

#include "base/strv.h"
#include "cli.h"
#include "options.h"

/* clang-format off */
#define CLI_VARIABLE_OPTIONS                                                                        \
	{ "env", required_argument, NULL, CLI_OPT_ENV },                                           \
	{ "env-secret", required_argument, NULL, CLI_OPT_ENV_SECRET }
/* clang-format on */

/* Adds the NAME=VALUE of an option. NAME alone takes the value of the caller, and adds nothing if
 * the caller has no such variable. Fails: INVALID, also for a credential without --env-secret;
 * NOMEM. */
KODA_CHECK int cli_variables_take(struct koda_strv *variables, const struct cli_call *call,
				  int option, const char *arg, struct koda_error *err);

#endif
