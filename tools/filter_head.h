/* SPDX-License-Identifier: MIT */
/* The head of the system-call filter: numbers that are unknown, and allow lists. */
#ifndef KODA_TOOLS_FILTER_HEAD_H
#define KODA_TOOLS_FILTER_HEAD_H

#include <linux/filter.h>
#include <stddef.h>
#include <stdio.h>

#define FILTER_HEAD_MAX 64

/* What comes before what libseccomp makes: jumps are relative, so nothing in that changes. What is
 * let pass here goes on there. Returns how many instructions that is. */
size_t filter_head_make(struct sock_filter head[FILTER_HEAD_MAX], unsigned int first_unknown);
/* The lists for people, as lines of a string in C. */
void filter_head_list(FILE *out);

#endif
