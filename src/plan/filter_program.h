/* SPDX-License-Identifier: MIT */
/* filter_program and filter_listing, for the architecture that this is compiled for. Tests on a
 * build machine define KODA_FILTER_AARCH64 or KODA_FILTER_X86_64 to see those of one architecture.
 */
#ifndef KODA_PLAN_FILTER_PROGRAM_H
#define KODA_PLAN_FILTER_PROGRAM_H

#include <linux/filter.h>

#if defined(KODA_FILTER_AARCH64) || (defined(__aarch64__) && !defined(KODA_FILTER_X86_64))
#include "filter_program_aarch64.h" /* generated */
#elif defined(KODA_FILTER_X86_64) || defined(__x86_64__)
#include "filter_program_x86_64.h" /* generated */
#else
#error "there is no system-call filter for this architecture"
#endif

#endif
