/* SPDX-License-Identifier: MIT */
/*
 * Allocations that fail on request. A program that links failing_malloc.c gets its malloc, calloc,
 * realloc, reallocarray, strdup and strndup, and so does every library in it.
 */
#ifndef KODA_TEST_FAILING_MALLOC_H
#define KODA_TEST_FAILING_MALLOC_H

#include <stdbool.h>
#include <stddef.h>

enum koda_alloc_mode {
	KODA_ALLOC_ONCE, /* the n-th allocation fails, later ones work again */
	KODA_ALLOC_DRY   /* from the n-th on, all fail */
};

/* Counts from here; n is 1 for the very next allocation. */
void koda_alloc_arm(size_t n, enum koda_alloc_mode mode);
/* Everything works again. True if an allocation was made to fail. */
bool koda_alloc_disarm(void);
/* Allocations asked for since the last koda_alloc_arm. */
size_t koda_alloc_count(void);

#endif
