/* SPDX-License-Identifier: MIT */
/* Fills struct koda_error: one statement per failure. */
#ifndef KODA_BASE_ERROR_H
#define KODA_BASE_ERROR_H

#include "base/macros.h"

/* Fills err (may be NULL) and returns code. sys_errno is passed by value, so that a clean-up
 * before the return cannot change it; its text is appended to the message. Bytes that could forge a
 * line or drive a terminal are escaped. */
int koda_fail(struct koda_error *err, int code, int sys_errno, const char *format, ...)
	KODA_PRINTF(4, 5);

/* Like koda_fail, and names the place: a JSON pointer, line:column, option or path. */
int koda_fail_at(struct koda_error *err, int code, int sys_errno, const char *field,
		 const char *format, ...) KODA_PRINTF(5, 6);

/* Puts outer context in front of the message. When space runs out, the outer context
 * is cut and never the message. */
void koda_error_prefix(struct koda_error *err, const char *format, ...) KODA_PRINTF(2, 3);

/* Puts an outer JSON pointer in front of the field: "/fs/deny_read" in front of "/0". */
void koda_error_within(struct koda_error *err, const char *outer);

/* Fills err with NOMEM and returns that. */
int koda_fail_nomem(struct koda_error *err);

/* Fills err for a code that a bounded container returned: LIMIT becomes "WHAT is too long". */
int koda_fail_room(struct koda_error *err, int code, const char *what);

#endif
