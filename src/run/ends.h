/* SPDX-License-Identifier: MIT */
/* The channels between us and a launcher: both ends of each, until one is given away. */
#ifndef KODA_RUN_ENDS_H
#define KODA_RUN_ENDS_H

#include "base/macros.h"

#include <koda/error.h>

struct koda_ends {
	int status[2]; /* ours, theirs */
	int life[2];
	int stream[3][2];
};

#define KODA_ENDS_INIT                                                                             \
	{                                                                                          \
		{ -1, -1 }, { -1, -1 },                                                            \
		{                                                                                  \
			{ -1, -1 }, { -1, -1 },                                                    \
			{                                                                          \
				-1, -1                                                             \
			}                                                                          \
		}                                                                                  \
	}

/* Fails: SYS. */
KODA_CHECK int koda_ends_make(struct koda_ends *ends, struct koda_error *err);
/* Once the launcher has its own. */
void koda_ends_close_theirs(struct koda_ends *ends);
void koda_ends_close(struct koda_ends *ends);

#endif
