/* SPDX-License-Identifier: MIT */
/* Attributes and scope-bound ownership. */
#ifndef KODA_BASE_MACROS_H
#define KODA_BASE_MACROS_H

#include <koda/error.h>
#include <stdlib.h>

#define KODA_ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))
#define KODA_PRINTF(f, a) __attribute__((format(printf, f, a)))
#define KODA_NONNULL(...) __attribute__((nonnull(__VA_ARGS__)))

/* 1 in a build with sanitizers, which need more memory and calls than the product. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) ||                         \
	__has_feature(memory_sanitizer)
#define KODA_SANITIZED 1
#endif
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define KODA_SANITIZED 1
#endif
#ifndef KODA_SANITIZED
#define KODA_SANITIZED 0
#endif

/* Moves ownership out of a pointer variable and leaves NULL behind. */
#define KODA_TAKE(p)                                                                               \
	({                                                                                         \
		__typeof__(p) koda_taken_ = (p);                                                   \
		(p) = NULL;                                                                        \
		koda_taken_;                                                                       \
	})

static inline void koda_free_ptr(void *p)
{
	void **slot = p;

	free(*slot);
	*slot = NULL;
}

/* Released when the variable goes out of scope; initialise it where it is declared. */
#define koda_auto_free __attribute__((cleanup(koda_free_ptr)))

#endif
