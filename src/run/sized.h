/* SPDX-License-Identifier: MIT */
/*
 * Structs that grow from release to release. The first member is the size that the caller's
 * compiler saw: what a smaller one lacks is zero, and what a larger one has beyond what this
 * library knows must be zero, for it would be left out silently.
 */
#ifndef KODA_RUN_SIZED_H
#define KODA_RUN_SIZED_H

#include "base/macros.h"

#include <stddef.h>

/* Copies what is given into known[size]; least is the size of the first release that had it. name
 * is told to who got it wrong. Fails: INVALID, UNSUPPORTED. */
KODA_CHECK int koda_sized_take(void *known, size_t size, size_t least, const void *given,
			       const char *name, struct koda_error *err);
/* The other way round: is ret a struct that can be filled in? Fails: INVALID. */
KODA_CHECK int koda_sized_check(const void *ret, size_t least, const char *name,
				struct koda_error *err);
/* Fills it in, as far as it goes; what is beyond known becomes zero. */
void koda_sized_give(void *ret, const void *known, size_t size);

#endif
