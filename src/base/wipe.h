/* SPDX-License-Identifier: MIT */
/* Secrets that are not needed any more. */
#ifndef KODA_BASE_WIPE_H
#define KODA_BASE_WIPE_H

#include <string.h>

/* Overwrites bytes, though nothing reads them again: the compiler takes the asm for a reader. Not
 * every libc has explicit_bzero(). */
static inline void koda_wipe(void *bytes, size_t len)
{
	memset(bytes, 0, len);
	__asm__ volatile("" : : "r"(bytes) : "memory");
}

#endif
