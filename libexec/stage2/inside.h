/* SPDX-License-Identifier: MIT */
/* What the guardian tells the first process inside, where bubblewrap is between them. */
#ifndef KODA_STAGE2_INSIDE_H
#define KODA_STAGE2_INSIDE_H

#include "stage2.h"

/* The first word of that process: may it mount, and so lock its view? */
#define INSIDE_LOCKED 1
#define INSIDE_OPEN   2
/* The last one, if something has failed. */
#define INSIDE_FAILED 3

#endif
