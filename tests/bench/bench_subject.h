/* SPDX-License-Identifier: MIT */
/* Programs that are started and timed, for an ordinary user, in projects below a directory. */
#ifndef KODA_BENCH_SUBJECT_H
#define KODA_BENCH_SUBJECT_H

#include "bench.h"

#include <sys/types.h>

#define BENCH_ROUNDS 300

/* What is run, and where. */
struct bench_subject {
	const char *dir;
	const char *const *argv;
	const char *policy; /* file to have as descriptor 3; NULL: none */
};

/* Ends the program with a message if r is negative. */
void bench_must(int r, const char *what);

pid_t bench_start(const struct bench_subject *subject);
/* Waits for it, and gives its peak memory in KiB. It must have succeeded. */
long bench_finish(pid_t pid, const struct bench_subject *subject);
/* Milliseconds. */
double bench_once(const struct bench_subject *subject);

/* Two subjects in turns, and what the first takes of the second's time. ret_more_us may be NULL. */
void bench_compare(const char *name, const struct bench_subject *a, const char *than,
		   const struct bench_subject *b, double *ret_more_us);
/* The same for what takes long; at most BENCH_ROUNDS. */
void bench_compare_rounds(size_t rounds, const char *name, const struct bench_subject *a,
			  const char *than, const struct bench_subject *b, double *ret_more_us);

/* A repository below base; out is its path. */
const char *bench_project(const char *base, const char *name, char *out, size_t size);

/* Calls act with an empty directory, which is also HOME, and the program of argv[1]. As root it
 * becomes an ordinary user first. For main to return. */
int bench_with_program(int argc, char **argv, void (*act)(const char *base, const char *program));

#endif
