/* SPDX-License-Identifier: MIT */
/* Landlock's version and its signal scope. */
#ifndef KODA_STAGE2_LANDLOCK_SCOPE_H
#define KODA_STAGE2_LANDLOCK_SCOPE_H

#include <stdbool.h>

/* Returns Landlock's ABI version; less than 1 without Landlock. */
long stage2_landlock_abi(void);
/* Enters a domain that signals, and, if abstract, connections to abstract sockets do not leave. */
void stage2_landlock_scope(bool abstract);

#endif
