/* SPDX-License-Identifier: MIT */
/* The guardian of the native backend: the launcher makes the namespaces itself. */
#ifndef KODA_STAGE2_GUARDIAN_NATIVE_H
#define KODA_STAGE2_GUARDIAN_NATIVE_H

/* Runs the guardian from the clone of init to the end of the command. */
void stage2_native_guard(void);

#endif
