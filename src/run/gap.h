/* SPDX-License-Identifier: MIT */
/*
 * What is known not to be there. Long lists of rules name much that is missing, in places that are
 * missing too: below such a place there is nothing to look at, and the next ones need no look.
 */
#ifndef KODA_RUN_GAP_H
#define KODA_RUN_GAP_H

#include "base/macros.h"

#include <koda/span.h>
#include <stdbool.h>

struct koda_gap {
	char *dir; /* owned; the topmost missing directory found last, or NULL */
};

#define KODA_GAP_INIT                                                                              \
	{                                                                                          \
		.dir = NULL                                                                        \
	}

bool koda_gap_covers(const struct koda_gap *gap, struct koda_span path);
/* Looks at path, which is in normal form, and for the topmost directory on the way to it that is
 * missing. Fails: NOMEM. */
KODA_CHECK int koda_gap_look(struct koda_gap *gap, const char *path, struct koda_error *err);
void koda_gap_clear(struct koda_gap *gap);

#define koda_auto_gap __attribute__((cleanup(koda_gap_clear)))

#endif
