/* SPDX-License-Identifier: MIT */
/*
 * T-30. Bounds what a survey of the project may cost. A command can fill the project with
 * directories, links and repositories that make the next survey long. One budget of directories,
 * entries, bytes and time covers all parts of a survey; beyond it the survey fails and names the
 * directory.
 */
#ifndef KODA_RUN_PROJECT_SURVEY_BUDGET_H
#define KODA_RUN_PROJECT_SURVEY_BUDGET_H

#include "base/macros.h"

#include <stddef.h>
#include <stdint.h>

struct koda_error;

#define KODA_SURVEY_BUDGET_DIRS    ((size_t)200000)
#define KODA_SURVEY_BUDGET_ENTRIES ((size_t)4000000)
#define KODA_SURVEY_BUDGET_BYTES   ((size_t)96 << 20)
#define KODA_SURVEY_BUDGET_CONFIG  ((size_t)8 << 20)
#define KODA_SURVEY_BUDGET_NS      (30 * 1000000000ULL)

/* How many copies of a repository's path rules, plan and sealed plan have. */
#define KODA_SURVEY_BUDGET_COPIES 16

/* All zero: nothing was spent, and there is no deadline. */
struct koda_survey_budget {
	size_t dirs;          /* opened so far */
	size_t entries;       /* names read and links followed */
	size_t bytes;         /* kept */
	size_t config;        /* bytes of git's configuration read */
	uint64_t began_ns;    /* on the monotonic clock */
	uint64_t deadline_ns; /* 0: none */
	unsigned int asked;   /* calls since the clock was read last */
};

/* Starts the clock, with at most wall_ns. */
void koda_survey_budget_begin(struct koda_survey_budget *budget, uint64_t wall_ns);

/* Take a directory, entries or bytes off the budget. where: the path for the error. Fail: LIMIT. */
KODA_CHECK int koda_survey_budget_take_dir(struct koda_survey_budget *budget, const char *where,
					   struct koda_error *err);
KODA_CHECK int koda_survey_budget_take_entries(struct koda_survey_budget *budget, size_t count,
					       const char *where, struct koda_error *err);
KODA_CHECK int koda_survey_budget_take_bytes(struct koda_survey_budget *budget, size_t count,
					     const char *where, struct koda_error *err);
/* Takes a configuration file of git with count bytes off the budget, and reads the clock. Fails:
 * LIMIT. */
KODA_CHECK int koda_survey_budget_take_config(struct koda_survey_budget *budget, size_t count,
					      const char *file, struct koda_error *err);

#endif
