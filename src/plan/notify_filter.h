/* SPDX-License-Identifier: MIT */
/* The second system-call filter of the backend landlock. */
#ifndef KODA_PLAN_NOTIFY_FILTER_H
#define KODA_PLAN_NOTIFY_FILTER_H

#include "base/buf.h"

/* Appends the program, which has init perform some calls (SECCOMP_RET_USER_NOTIF). Fails: LIMIT,
 * NOMEM. */
KODA_CHECK int koda_notify_filter_program(struct koda_buf *out);

#endif
