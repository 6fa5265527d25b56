/* SPDX-License-Identifier: MIT */
/*
 * Objects of the library are for one thread at a time. A second thread, or a callback that calls
 * back, is refused instead of finding the object in a state between two others. An object that is
 * freed while it is in use is destroyed by the function that uses it, when that returns.
 */
#ifndef KODA_RUN_IN_USE_H
#define KODA_RUN_IN_USE_H

#include "base/error.h"

#include <stdatomic.h>
#include <stdbool.h>

enum {
	KODA_IN_USE_BY_CALL = 1, /* a function of the library uses the object */
	KODA_IN_USE_FREED = 2,   /* the caller has freed it */
};

/* Marks an object as in use. what: its name for the message. Fails: INVALID. */
static inline int koda_in_use_begin(atomic_uint *in_use, const char *what, struct koda_error *err)
{
	unsigned int unused = 0;

	if (atomic_compare_exchange_strong(in_use, &unused, KODA_IN_USE_BY_CALL))
		return KODA_OK;
	return koda_fail(err, KODA_E_INVALID, 0,
			 "the %s is in use by another thread, or by the function whose callback "
			 "calls this",
			 what);
}

/* The counterpart of koda_in_use_begin. True if the object was freed meanwhile, so that the caller
 * has to destroy it; else another thread may destroy it from now on. */
static inline bool koda_in_use_end(atomic_uint *in_use)
{
	unsigned int used = KODA_IN_USE_BY_CALL;

	return !atomic_compare_exchange_strong(in_use, &used, 0);
}

/* Marks an object as freed. True if no function uses it, so that the caller has to destroy it. */
static inline bool koda_in_use_free(atomic_uint *in_use)
{
	return atomic_fetch_or(in_use, KODA_IN_USE_FREED) == 0;
}

#endif
