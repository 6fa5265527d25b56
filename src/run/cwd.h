/* SPDX-License-Identifier: MIT */
/* The working directory of a command. */
#ifndef KODA_RUN_CWD_H
#define KODA_RUN_CWD_H

#include "base/macros.h"

#include <koda/command.h>

/* Replaces options->cwd by its absolute path, which *ret_path owns. A relative one starts at the
 * root, and its links are resolved, as on the command line. Fails: INVALID, SYS, NOMEM. */
KODA_CHECK int koda_cwd_take(const char *root, struct koda_command_options *options,
			     char **ret_path, struct koda_error *err);

#endif
