/* SPDX-License-Identifier: MIT */
/* The system-call filter, made at build time by tools/gen_filter.c. */
#ifndef KODA_PLAN_FILTER_H
#define KODA_PLAN_FILTER_H

#include "base/buf.h"

/* The program as the kernel takes it. */
struct koda_span koda_filter_program(void);
/* The same for people. */
const char *koda_filter_listing(void);

/* Appends the second program, for where there are no namespaces (asked.c). Fails: LIMIT, NOMEM. */
KODA_CHECK int koda_asked_program(struct koda_buf *out);

#endif
