/* SPDX-License-Identifier: MIT */
/* The project, its effective policy and the working directory that the policy options ask for. */
#ifndef KODA_CLI_SETUP_H
#define KODA_CLI_SETUP_H

#include "options.h"

#include <koda/project.h>

struct cli_setup {
	struct koda_project *project; /* owned */
	char *cwd;                    /* owned; absolute, at or below the root */
	uint64_t max_processes;
};

#define CLI_SETUP_INIT                                                                             \
	{                                                                                          \
		.project = NULL                                                                    \
	}
void cli_setup_clear(struct cli_setup *setup);
#define cli_auto_setup __attribute__((cleanup(cli_setup_clear)))

/* Opens the project and applies the options to it. setup must be CLI_SETUP_INIT. Errors name the
 * option. Fails: as the functions it calls. */
KODA_CHECK int cli_setup_make(const struct cli_policy_options *options, const char *const *env,
			      struct cli_setup *setup, struct koda_error *err);

struct koda_seatbelt_options;

/* Prints the policy as a Seatbelt profile (cmd_seatbelt.c). Fails: as koda_project_seatbelt. */
KODA_CHECK int cli_seatbelt_print(const struct cli_setup *setup,
				  const struct koda_seatbelt_options *options,
				  struct koda_error *err);

#endif
