/* SPDX-License-Identifier: MIT */
/*
 * Public structs that grow from release to release. Their first member is the size that the caller
 * was compiled with. Members that a smaller struct lacks are zero. Members of a larger struct that
 * this release does not know must be zero; anything else is refused.
 */
#ifndef KODA_BASE_SIZED_H
#define KODA_BASE_SIZED_H

#include "base/macros.h"

#include <stddef.h>

/* Copies a struct of the caller into known[size]. least: the size of the struct in its first
 * release; name: for the message. Fails: INVALID, UNSUPPORTED. */
KODA_CHECK int koda_sized_take(void *known, size_t size, size_t least, const void *given,
			       const char *name, struct koda_error *err);
/* Fails if the size of a struct that is to be filled in is impossible: INVALID. */
KODA_CHECK int koda_sized_check(const void *ret, size_t least, const char *name,
				struct koda_error *err);
/* Copies known[size] into the caller's struct as far as it fits, and zeroes the rest of it. */
void koda_sized_give(void *ret, const void *known, size_t size);

#endif
