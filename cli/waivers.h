/* SPDX-License-Identifier: MIT */
/*
 * T-48. The options by which a person does without clauses of the sandbox, or without all of it.
 * Trust mode auto runs commands that no person has seen, so it refuses them.
 */
#ifndef KODA_CLI_WAIVERS_H
#define KODA_CLI_WAIVERS_H

#include "options.h"

#include <koda/sandbox.h>

/* clang-format off */
#define CLI_WAIVER_OPTIONS                                                                           \
	{ "accept", required_argument, NULL, CLI_OPT_ACCEPT },                                     \
	{ "no-sandbox", no_argument, NULL, CLI_OPT_NO_SANDBOX }
/* clang-format on */

struct cli_waivers {
	enum koda_clause accept[KODA_CLAUSE_COUNT];
	size_t accept_count;
	bool no_sandbox;
};

/* Takes one option of CLI_WAIVER_OPTIONS. Fails: INVALID. */
KODA_CHECK int cli_waivers_take(struct cli_waivers *waivers, int option, const char *arg,
				struct koda_error *err);
/* Refuses waivers that the trust mode does not permit. Fails: INVALID. */
KODA_CHECK int cli_waivers_check(const struct cli_waivers *waivers,
				 const struct cli_policy_options *options,
				 const struct cli_call *call, struct koda_error *err);
/* Fills in the sandbox options; waivers must outlive them. */
void cli_waivers_apply(const struct cli_waivers *waivers, struct koda_sandbox_options *options);
/* Prints a warning if there is no sandbox. */
void cli_waivers_warn(const struct cli_waivers *waivers);

#endif
