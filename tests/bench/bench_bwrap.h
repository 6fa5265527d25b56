/* SPDX-License-Identifier: MIT */
/* bubblewrap alone, to compare with: every namespace that a plain run has, running `sh -c true`. */
#ifndef KODA_BENCH_BWRAP_H
#define KODA_BENCH_BWRAP_H

#include "bench_subject.h"

/* With the few binds that somebody would give it by hand, in the repository dir. */
struct bench_subject bench_bwrap_few(const char *dir);

/* With every bind and tmpfs of the plan that program makes for the repository dir. The names that
 * such a plan reserves are made there, once. */
struct bench_subject bench_bwrap_same(const char *dir, const char *program);

#endif
