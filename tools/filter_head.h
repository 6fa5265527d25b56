/* SPDX-License-Identifier: MIT */
/* The head of the system-call filter: numbers that are unknown, and allow lists. */
#ifndef KODA_TOOLS_FILTER_HEAD_H
#define KODA_TOOLS_FILTER_HEAD_H

#include "filter_calls.h"

#include <linux/filter.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define FILTER_HEAD_MAX 64

/* A call with a mode as its third argument, which libseccomp may be too old to know. */
#define FILTER_HEAD_MODE_CALL "fchmodat2"

/* Makes what comes before libseccomp's body: jumps are relative, so nothing in that changes. What
 * passes here goes on there. Without body_has_mode the set-id bits of FILTER_HEAD_MODE_CALL are
 * refused here. Returns how many instructions that is. */
size_t filter_head_make(struct sock_filter head[FILTER_HEAD_MAX],
			const struct filter_target *target, bool body_has_mode);
/* Writes the lists for people, as lines of a string in C. */
void filter_head_list(FILE *out, const struct filter_target *target, bool body_has_mode);

#endif
