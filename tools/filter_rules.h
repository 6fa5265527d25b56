/* SPDX-License-Identifier: MIT */
/* The body of the system-call filter: rules for libseccomp. */
#ifndef KODA_TOOLS_FILTER_RULES_H
#define KODA_TOOLS_FILTER_RULES_H

#include "filter_calls.h"

#include <seccomp.h>
#include <stdbool.h>

/* Returns whether the target is the build machine. For another, libseccomp translates numbers by
 * name, and FILTER_HEAD_MODE_CALL may be younger than it. */
bool filter_rules_are_native(const struct filter_target *target);

/* Exits with a message unless r, of libseccomp or a system call, is at least 0. */
void filter_rules_must(int r, const char *what);

/* Makes the rules for the target. The caller releases them. Exits on failure. */
scmp_filter_ctx filter_rules_make(const struct filter_target *target);

#endif
