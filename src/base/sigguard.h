/* SPDX-License-Identifier: MIT */
/*
 * Blocks SIGPIPE and SIGXFSZ around writes, so that they cannot kill the embedding process. The
 * writer sees EPIPE or EFBIG instead.
 */
#ifndef KODA_BASE_SIGGUARD_H
#define KODA_BASE_SIGGUARD_H

#include <signal.h>

struct koda_sigguard {
	sigset_t before;
	sigset_t blocked; /* by begin: those that were not blocked before */
};

/* Blocks both signals in the calling thread. */
void koda_sigguard_begin(struct koda_sigguard *guard);
/* Discards those that became pending since begin, and restores the signal mask. */
void koda_sigguard_end(const struct koda_sigguard *guard);

#endif
