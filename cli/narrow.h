/* SPDX-License-Identifier: MIT */
/* Options that narrow a project's policy. Nothing here ever allows more. */
#ifndef KODA_CLI_NARROW_H
#define KODA_CLI_NARROW_H

#include "options.h"

#include <koda/project.h>

/* Applies --narrow-fd, --hide-credentials, --deny-read, --deny-write, --deny-domain, --no-network
 * and --read-only, in this order. Errors name the option. Fails: DENIED, INVALID, POLICY, SYS,
 * LIMIT, NOMEM. */
KODA_CHECK int cli_narrow_apply(const struct cli_policy_options *options,
				struct koda_project *project, struct koda_error *err);

#endif
