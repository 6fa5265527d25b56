/* SPDX-License-Identifier: MIT */
/* The channels between the host and a launcher; both ends of each, until one is passed on. */
#ifndef KODA_RUN_BACKEND_CHANNELS_H
#define KODA_RUN_BACKEND_CHANNELS_H

#include "base/macros.h"

#include <koda/error.h>

struct koda_channels {
	int status[2];    /* the host's end, the launcher's; socket for reports */
	int life[2];      /* the lifeline: a socket whose end means "kill everything" */
	int stream[3][2]; /* pipes for stdin, stdout, stderr */
};

#define KODA_CHANNELS_INIT                                                                         \
	{                                                                                          \
		{ -1, -1 }, { -1, -1 },                                                            \
		{                                                                                  \
			{ -1, -1 }, { -1, -1 },                                                    \
			{                                                                          \
				-1, -1                                                             \
			}                                                                          \
		}                                                                                  \
	}

/* Opens all of them. Fails: SYS. */
KODA_CHECK int koda_channels_make(struct koda_channels *channels, struct koda_error *err);
/* Closes the launcher's ends, after it was spawned with them. */
void koda_channels_close_theirs(struct koda_channels *channels);
void koda_channels_close(struct koda_channels *channels);

#endif
