/* SPDX-License-Identifier: MIT */
/*
 * T-48. Doing without: the options by which a person gives up parts of the sandbox, or all of it.
 * Trust mode auto has nobody to ask, so there they are refused.
 */
#ifndef KODA_CLI_GRIP_H
#define KODA_CLI_GRIP_H

#include "options.h"

#include <koda/run.h>

/* clang-format off */
#define CLI_GRIP_OPTIONS                                                                           \
	{ "accept", required_argument, NULL, CLI_OPT_ACCEPT },                                     \
	{ "no-sandbox", no_argument, NULL, CLI_OPT_NO_SANDBOX }
/* clang-format on */

struct cli_grip {
	enum koda_clause accept[KODA_CLAUSE_COUNT];
	size_t accept_count;
	bool no_sandbox;
};

/* Takes in one option of CLI_GRIP_OPTIONS. Fails: INVALID. */
KODA_CHECK int koda_cli_grip_take(struct cli_grip *grip, int option, const char *arg,
				  struct koda_error *err);
/* Refuses what the trust mode does not permit, before anything is looked at. Fails: INVALID. */
KODA_CHECK int koda_cli_grip_check(const struct cli_grip *grip, const struct cli_shape *shape,
				   const struct cli_call *call, struct koda_error *err);
/* Fills in what the options say; grip must outlive them. */
void koda_cli_grip_apply(const struct cli_grip *grip, struct koda_sandbox_options *options);
/* If there will be no sandbox, says so, loudly. */
void koda_cli_grip_warn(const struct cli_grip *grip);

#endif
