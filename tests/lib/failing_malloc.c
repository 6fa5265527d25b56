/* SPDX-License-Identifier: MIT */
#include "failing_malloc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The allocator behind ours: the sanitizer's if this is such a build, else libc's. */
extern void *__interceptor_malloc(size_t size) __attribute__((weak));
extern void *__interceptor_calloc(size_t count, size_t size) __attribute__((weak));
extern void *__interceptor_realloc(void *p, size_t size) __attribute__((weak));
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *p, size_t size);

static size_t fail_at; /* 0: never */
static size_t asked;
static enum koda_alloc_mode fail_mode;
static bool fired;

void koda_alloc_arm(size_t n, enum koda_alloc_mode mode)
{
	fail_at = n;
	fail_mode = mode;
	asked = 0;
	fired = false;
}

bool koda_alloc_disarm(void)
{
	fail_at = 0;
	return fired;
}

size_t koda_alloc_count(void)
{
	return asked;
}

/* Is it this one's turn to fail? */
static bool fails(void)
{
	if (fail_at == 0)
		return false;
	asked++;
	if (asked != fail_at && !(fail_mode == KODA_ALLOC_DRY && asked > fail_at))
		return false;
	fired = true;
	errno = ENOMEM;
	return true;
}

static void *real_malloc(size_t size)
{
	return __interceptor_malloc ? __interceptor_malloc(size) : __libc_malloc(size);
}

static void *real_realloc(void *p, size_t size)
{
	return __interceptor_realloc ? __interceptor_realloc(p, size) : __libc_realloc(p, size);
}

void *malloc(size_t size)
{
	return fails() ? NULL : real_malloc(size);
}

void *calloc(size_t count, size_t size)
{
	if (fails())
		return NULL;
	return __interceptor_calloc ? __interceptor_calloc(count, size)
				    : __libc_calloc(count, size);
}

void *realloc(void *p, size_t size)
{
	return fails() ? NULL : real_realloc(p, size);
}

void *reallocarray(void *p, size_t count, size_t size)
{
	size_t total;

	if (__builtin_mul_overflow(count, size, &total)) {
		errno = ENOMEM;
		return NULL;
	}
	return fails() ? NULL : real_realloc(p, total);
}

char *strndup(const char *text, size_t max)
{
	size_t len = strnlen(text, max);
	char *copy = fails() ? NULL : real_malloc(len + 1);

	if (copy) {
		memcpy(copy, text, len);
		copy[len] = '\0';
	}
	return copy;
}

char *strdup(const char *text)
{
	return strndup(text, strlen(text));
}
