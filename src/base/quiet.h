/* SPDX-License-Identifier: MIT */
/*
 * Writing where somebody else's process is ours only for a while. That a reader is gone, or that a
 * file has reached the limit of its size, is told by errno; the signal that comes besides would be
 * the end of the host.
 */
#ifndef KODA_BASE_QUIET_H
#define KODA_BASE_QUIET_H

#include <signal.h>

struct koda_quiet {
	sigset_t before;
	sigset_t held; /* those that were not blocked already */
};

void koda_quiet_begin(struct koda_quiet *quiet);
/* Takes back the signals that have come meanwhile. */
void koda_quiet_end(const struct koda_quiet *quiet);

#endif
