/* SPDX-License-Identifier: MIT */
#ifndef KODA_BARE_LIMITS_H
#define KODA_BARE_LIMITS_H

#include <stdbool.h>

/* Takes on limits, each RESOURCE:SOFT:HARD and a comma. False with errno if one did not take. */
bool bare_limits_apply(const char *text);

#endif
