/* SPDX-License-Identifier: MIT */
/* The second system-call filter of backends with a view: it notifies init of path calls. */
#ifndef KODA_PLAN_REPORT_FILTER_H
#define KODA_PLAN_REPORT_FILTER_H

#include "base/buf.h"

#include <stdbool.h>

/* Appends the program. reads: also opening for reading and execve are told of. Fails: LIMIT, NOMEM.
 */
KODA_CHECK int koda_report_filter_program(bool reads, struct koda_buf *out);

#endif
