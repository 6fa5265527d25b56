/* SPDX-License-Identifier: MIT */
/* What the guardian tells the first process inside, where bubblewrap is between them. */
#ifndef KODA_STAGE2_INSIDE_H
#define KODA_STAGE2_INSIDE_H

#include "stage2.h"

/* The first word of that process: may it mount, and so lock its view? */
#define INSIDE_LOCKED 1
#define INSIDE_OPEN   2

struct inside_go {
	struct namespace_name outside[KODA_NAMESPACES]; /* the guardian's namespaces */
	bool cgroup; /* there is a control group, and it is for all of us */
	bool rest;   /* bubblewrap was not told what the plan has KODA_OP_INSIDE for */
};

#endif
