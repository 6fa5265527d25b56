/* SPDX-License-Identifier: MIT */
/* What the guardian tells the first process inside, where bubblewrap is between them. */
#ifndef KODA_STAGE2_INSIDE_H
#define KODA_STAGE2_INSIDE_H

#include "stage2.h"

struct inside_go {
	uint64_t outside[KODA_NAMESPACES]; /* the guardian's namespaces */
	bool cgroup;                       /* there is a control group, and it is for all of us */
};

#endif
