/* SPDX-License-Identifier: MIT */
/* Filling in struct koda_error: one statement per failure. */
#ifndef KODA_BASE_DIAG_H
#define KODA_BASE_DIAG_H

#include "base/macros.h"

/* Fills err (may be NULL) and returns code. sys_errno is passed by value so that no clean-up in
 * between can change it; its text is appended to the message. Bytes that could forge a line or
 * drive a terminal are escaped. */
int koda_fail(struct koda_error *err, int code, int sys_errno, const char *format, ...)
	KODA_PRINTF(4, 5);

/* The same, naming the place: a JSON pointer, line:column, option or path. */
int koda_fail_at(struct koda_error *err, int code, int sys_errno, const char *field,
		 const char *format, ...) KODA_PRINTF(5, 6);

/* Puts outer context in front of the message. When space runs out the outer words are cut, the
 * innermost cause never is. */
void koda_error_prefix(struct koda_error *err, const char *format, ...) KODA_PRINTF(2, 3);

/* Puts an outer step in front of the field: a pointer "/0" below "/fs/deny_read". */
void koda_error_within(struct koda_error *err, const char *outer);

int koda_fail_nomem(struct koda_error *err);

/* For what a bounded container returned: LIMIT becomes "WHAT is too long", NOMEM stays that. */
int koda_fail_room(struct koda_error *err, int code, const char *what);

/* Members of a public struct that this release does not know. Fails: UNSUPPORTED if any is used. */
KODA_CHECK int koda_check_reserved(const void *const reserved[4], struct koda_error *err);

#endif
