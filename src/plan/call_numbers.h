/* SPDX-License-Identifier: MIT */
/* CALL_name for each call that a filter names: its number on the architecture that this is compiled
 * for, or -1 if that lacks it. Tests on a build machine define
 * KODA_FILTER_AARCH64 or KODA_FILTER_X86_64 to see those of one architecture. */
#ifndef KODA_PLAN_CALL_NUMBERS_H
#define KODA_PLAN_CALL_NUMBERS_H

#if defined(KODA_FILTER_AARCH64) || (defined(__aarch64__) && !defined(KODA_FILTER_X86_64))
#include "call_numbers_aarch64.h" /* generated */
#elif defined(KODA_FILTER_X86_64) || defined(__x86_64__)
#include "call_numbers_x86_64.h" /* generated */
#else
#error "there is no system-call filter for this architecture"
#endif

#endif
