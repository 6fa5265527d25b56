/* SPDX-License-Identifier: MIT */
/*
 * T-44. Finds the programs and scripts of a command line that git runs, as far as its text tells:
 * words as they are spelt, "cd", variables that it sets, and paths whose first part a shell
 * computes.
 */
#ifndef KODA_RUN_PROJECT_GIT_COMMAND_H
#define KODA_RUN_PROJECT_GIT_COMMAND_H

#include "base/macros.h"

struct koda_error;
struct koda_git_trail;

/* Adds the programs and scripts of a command line that git runs in the work tree at top. An alias
 * begins with "!". Fails as the functions of git_trail.h do. */
KODA_CHECK int koda_git_command_note(struct koda_git_trail *trail, const char *command,
				     const char *top, struct koda_error *err);

#endif
