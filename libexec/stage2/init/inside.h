/* SPDX-License-Identifier: MIT */
/* The first process inside the namespaces that bubblewrap has made. */
#ifndef KODA_STAGE2_INIT_INSIDE_H
#define KODA_STAGE2_INIT_INSIDE_H

#include <stdbool.h>

/* The first byte that process sends to the guardian: may it mount, and so lock its view? */
#define INSIDE_LOCKED 1
#define INSIDE_OPEN   2
/* The last byte, if it has failed. */
#define INSIDE_FAILED 3

/* Runs the first process inside. made: bubblewrap has made the view, too. */
_Noreturn void stage2_inside_main(bool made);

#endif
