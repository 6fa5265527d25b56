/* SPDX-License-Identifier: MIT */
/* Plans that the launcher must not take, for mutate. */
#ifndef KODA_SECURITY_UNSOUND_H
#define KODA_SECURITY_UNSOUND_H

struct koda_buf;

/* A file with the bytes of a plan, but not as a plan has to be handed over; ends the program if
 * nobody knows how. */
int unsound_plan(struct koda_buf *bytes, const char *how);

#endif
