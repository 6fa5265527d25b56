/* SPDX-License-Identifier: MIT */
/* Starts bubblewrap, with descriptors at the numbers that its arguments name (wire/bwrap.h). */
#ifndef KODA_STAGE2_GUARDIAN_BWRAP_START_H
#define KODA_STAGE2_GUARDIAN_BWRAP_START_H

#include "plan.h"

#include <sys/types.h>

/* A running bubblewrap. */
struct bwrap_process {
	pid_t pid;     /* of bubblewrap itself, which ends after the processes inside */
	int pidfd;     /* of bubblewrap itself */
	int init_pipe; /* to the first process inside; messages carry credentials */
	int errors;    /* a memfd: bubblewrap's stderr */
};

/* Duplicates a descriptor above all numbers that bubblewrap is given. */
int stage2_bwrap_start_park(int fd);
/* Starts bubblewrap without a view, before there is a plan: the first process inside makes it. */
struct bwrap_process stage2_bwrap_start_bare(int plan_fd);
/* Starts bubblewrap with the arguments of the whole view. */
struct bwrap_process stage2_bwrap_start_view(const struct plan *plan, int plan_fd);

#endif
