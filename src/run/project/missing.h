/* SPDX-License-Identifier: MIT */
/*
 * Remembers a missing directory. Long lists of rules name many paths below the same missing
 * directory, and lstat() need not be called for each of them.
 */
#ifndef KODA_RUN_PROJECT_MISSING_H
#define KODA_RUN_PROJECT_MISSING_H

#include "base/macros.h"

#include <koda/span.h>
#include <stdbool.h>

struct koda_missing {
	char *dir; /* owned; the topmost missing directory that was found last, or NULL */
};

#define KODA_MISSING_INIT                                                                          \
	{                                                                                          \
		.dir = NULL                                                                        \
	}

/* Tells whether path is the remembered directory or below it. */
bool koda_missing_covers(const struct koda_missing *missing, struct koda_span path);
/* Finds the topmost missing directory of path, which is in normal form, and remembers it. Fails:
 * NOMEM. */
KODA_CHECK int koda_missing_look(struct koda_missing *missing, const char *path,
				 struct koda_error *err);
void koda_missing_clear(struct koda_missing *missing);

#define koda_auto_missing __attribute__((cleanup(koda_missing_clear)))

#endif
