/* SPDX-License-Identifier: MIT */
/* Samples and their percentiles; a benchmark prints, it never judges. */
#ifndef KODA_BENCH_H
#define KODA_BENCH_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static inline uint64_t bench_now(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000U + (uint64_t)t.tv_nsec;
}

static inline int bench_by_value(const void *a, const void *b)
{
	double x = *(const double *)a;
	double y = *(const double *)b;

	return (x > y) - (x < y);
}

struct bench_result {
	double p50;
	double p95;
};

/* Sorts samples in place. */
static inline struct bench_result bench_percentiles(double *samples, size_t count)
{
	qsort(samples, count, sizeof(*samples), bench_by_value);
	return (struct bench_result){ samples[count / 2], samples[count * 95 / 100] };
}

static inline void bench_print(const char *name, struct bench_result r, const char *unit)
{
	printf("%-44s p50 %10.3f %s   p95 %10.3f %s\n", name, r.p50, unit, r.p95, unit);
}

#endif
