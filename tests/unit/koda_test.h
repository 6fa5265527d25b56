/* SPDX-License-Identifier: MIT */
/*
 * What every unit test includes, first. One program per module, one cmocka group per program:
 *
 *	static const struct { const char *name; ... } rows[] = { ... };
 *
 *	static void refuses_bad_input(void **state)
 *	{
 *		(void)state;
 *		KODA_EACH(row, rows)
 *			KODA_EXPECT(row->name, parse(row->text) == row->want);
 *	}
 *
 *	int main(void)
 *	{
 *		const struct CMUnitTest tests[] = { cmocka_unit_test(refuses_bad_input) };
 *
 *		return KODA_TEST_RUN(tests);
 *	}
 */
#ifndef KODA_TEST_H
#define KODA_TEST_H

/* cmocka.h needs these before it, in this order. */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
/* clang-format on */

#include <koda/error.h>
#include <koda/span.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define KODA_TEST_RUN(tests) cmocka_run_group_tests((tests), NULL, NULL)

/* A loop over a table: row points at each element in turn. */
#define KODA_EACH(row, table)                                                                      \
	for (__typeof__(&(table)[0]) row = (table);                                                \
	     row < (table) + sizeof(table) / sizeof((table)[0]); row++)

/* Fails with the row's name, which the line number alone would not tell. */
#define KODA_EXPECT(name, condition)                                                               \
	do {                                                                                       \
		if (!(condition))                                                                  \
			fail_msg("%s: %s", (name), #condition);                                    \
	} while (0)

/* The call must succeed; err is the struct koda_error it was given. */
#define KODA_ASSERT_OK(call, err)                                                                  \
	do {                                                                                       \
		int koda_r_ = (call);                                                              \
		if (koda_r_ < 0)                                                                   \
			fail_msg("%s = %d: %s: %s", #call, koda_r_, (err).field, (err).message);   \
	} while (0)

/* The call must fail with exactly this code, returned and recorded, and say why. */
#define KODA_ASSERT_FAILS(expected, call, err)                                                     \
	do {                                                                                       \
		int koda_r_ = (call);                                                              \
		if (koda_r_ != (expected) || (err).code != (expected) || !(err).message[0])        \
			fail_msg("%s = %d (error %d \"%s\"), expected %d", #call, koda_r_,         \
				 (err).code, (err).message, (expected));                           \
	} while (0)

#define KODA_ASSERT_SPAN(span, text)                                                               \
	do {                                                                                       \
		struct koda_span koda_s_ = (span);                                                 \
		const char *koda_t_ = (text);                                                      \
		if (koda_s_.len != strlen(koda_t_) ||                                              \
		    (koda_s_.len && memcmp(koda_s_.ptr, koda_t_, koda_s_.len) != 0))               \
			fail_msg("%s is \"%.*s\", expected \"%s\"", #span, (int)koda_s_.len,       \
				 koda_s_.ptr ? koda_s_.ptr : "", koda_t_);                         \
	} while (0)

/*
 * Random cases that can be repeated: the seed comes from KODA_TEST_SEED or the kernel, and is
 * printed when the generator is made. The generator is splitmix64.
 */
struct koda_rng {
	uint64_t state;
};

static inline struct koda_rng koda_rng_new(void)
{
	const char *given = getenv("KODA_TEST_SEED");
	uint64_t seed = 0;

	if (given && *given)
		seed = strtoull(given, NULL, 0);
	else if (getrandom(&seed, sizeof(seed), 0) != (ssize_t)sizeof(seed))
		seed = 1;
	printf("# KODA_TEST_SEED=%#llx\n", (unsigned long long)seed);
	(void)fflush(stdout);
	return (struct koda_rng){ seed };
}

static inline uint64_t koda_rng_next(struct koda_rng *rng)
{
	uint64_t z = rng->state += 0x9e3779b97f4a7c15;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

/* 0 to n - 1; the bias is far below what a test could see. */
static inline size_t koda_rng_below(struct koda_rng *rng, size_t n)
{
	return n ? (size_t)(koda_rng_next(rng) % n) : 0;
}

/* True once in n times on average. */
static inline bool koda_rng_one_in(struct koda_rng *rng, size_t n)
{
	return koda_rng_below(rng, n) == 0;
}

#endif
