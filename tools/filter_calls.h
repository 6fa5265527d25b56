/* SPDX-License-Identifier: MIT */
/* The system calls that the filters name, and their numbers on each architecture. */
#ifndef KODA_TOOLS_FILTER_CALLS_H
#define KODA_TOOLS_FILTER_CALLS_H

#include <stdint.h>
#include <stdio.h>

/* The first number that was not looked at: everything up to mseal (462) was. From 424 on all
 * architectures number their calls alike. */
#define FILTER_FIRST_UNKNOWN 463

struct filter_target {
	const char *name; /* as the compiler's machine and meson's cpu_family */
	uint32_t token;   /* libseccomp's */
};

/* Returns the architecture of that name. Exits if there is no filter for it. */
const struct filter_target *filter_calls_target(const char *name);

/* Returns the number of a call on the target, or -1 if the table says that it lacks the call. Exits
 * if the table has no row for the call, or libseccomp knows better. */
int filter_calls_number(const struct filter_target *target, const char *name);

/* Exits unless every row of the table is true for the target, and every call of it below
 * FILTER_FIRST_UNKNOWN is one that x86_64 has too, which is where they were looked at. */
void filter_calls_check(const struct filter_target *target);

/* Writes a C header with a macro CALL_name for each row; -1 for calls that the target lacks. */
void filter_calls_write(const struct filter_target *target, FILE *out);

#endif
