/* SPDX-License-Identifier: MIT */
/* Which backend this launcher works for. */
#ifndef KODA_STAGE2_BACKEND_H
#define KODA_STAGE2_BACKEND_H

#include <stdbool.h>

/* True if there are no namespaces: Landlock, seccomp and init's broker enforce the plan alone. */
extern bool stage2_backend_is_landlock;

#endif
