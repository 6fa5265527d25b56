/* SPDX-License-Identifier: MIT */
/* The system-call filter, generated at build time by tools/gen_filter.c. */
#ifndef KODA_PLAN_FILTER_H
#define KODA_PLAN_FILTER_H

#include <koda/span.h>

/* The program as the kernel takes it; koda_filter_listing (koda/sandbox.h) is for people. */
struct koda_span koda_filter_program(void);

#endif
