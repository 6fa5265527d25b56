/* SPDX-License-Identifier: MIT */
/* The message for a person who looks for an option of run that allows more. */
#ifndef KODA_CLI_RECIPE_H
#define KODA_CLI_RECIPE_H

#include "cli.h"

/* Fills in a usage error for word, an unknown --allow-... of a command that takes --policy. It
 * shows shell commands that make a policy which allows it. Returns KODA_E_INVALID. */
int cli_recipe(const struct cli_call *call, const char *word, struct koda_error *err);

#endif
