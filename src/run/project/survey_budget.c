/* SPDX-License-Identifier: MIT */
/* T-30. Counts what a survey costs. */
#include "run/project/survey_budget.h"

#include "base/clock.h"
#include "base/error.h"

/* How many calls go between two readings of the clock, which costs as much as an lstat(). */
#define ASKED_MAX 32

void koda_survey_budget_begin(struct koda_survey_budget *budget, uint64_t wall_ns)
{
	budget->began_ns = koda_clock_now();
	budget->deadline_ns = budget->began_ns +
			      (wall_ns < KODA_SURVEY_BUDGET_NS ? wall_ns : KODA_SURVEY_BUDGET_NS);
}

static int check_time(struct koda_survey_budget *budget, const char *where, struct koda_error *err)
{
	if (budget->deadline_ns == 0 || ++budget->asked < ASKED_MAX)
		return KODA_OK;
	budget->asked = 0;
	if (koda_clock_now() < budget->deadline_ns)
		return KODA_OK;
	return koda_fail_at(err, KODA_E_LIMIT, 0, where,
			    "looking at the project takes too long: after %.3g s it has come as "
			    "far as this; remove what is not needed there, name a project root "
			    "with less in it, or raise the wall time",
			    (double)(budget->deadline_ns - budget->began_ns) / 1e9);
}

int koda_survey_budget_take_dir(struct koda_survey_budget *budget, const char *where,
				struct koda_error *err)
{
	if (budget->dirs >= KODA_SURVEY_BUDGET_DIRS)
		return koda_fail_at(err, KODA_E_LIMIT, 0, where,
				    "more than %zu directories to look at for repositories, most "
				    "of them here; remove some, or name a project root with fewer",
				    KODA_SURVEY_BUDGET_DIRS);
	budget->dirs++;
	return check_time(budget, where, err);
}

int koda_survey_budget_take_entries(struct koda_survey_budget *budget, size_t count,
				    const char *where, struct koda_error *err)
{
	if (count > KODA_SURVEY_BUDGET_ENTRIES - budget->entries)
		return koda_fail_at(err, KODA_E_LIMIT, 0, where,
				    "more than %zu files and links to look at in the project, the "
				    "last of them here; remove some, or name a project root with "
				    "fewer",
				    KODA_SURVEY_BUDGET_ENTRIES);
	budget->entries += count;
	return check_time(budget, where, err);
}

int koda_survey_budget_take_bytes(struct koda_survey_budget *budget, size_t count,
				  const char *where, struct koda_error *err)
{
	if (count > KODA_SURVEY_BUDGET_BYTES - budget->bytes)
		return koda_fail_at(err, KODA_E_LIMIT, 0, where,
				    "the names of the project's directories and repositories take "
				    "more than %zu MiB, the last of them here; remove some, or "
				    "name a project root with fewer",
				    KODA_SURVEY_BUDGET_BYTES >> 20);
	budget->bytes += count;
	return KODA_OK;
}

int koda_survey_budget_take_config(struct koda_survey_budget *budget, size_t count,
				   const char *file, struct koda_error *err)
{
	if (count > KODA_SURVEY_BUDGET_CONFIG - budget->config)
		return koda_fail_at(err, KODA_E_LIMIT, 0, file,
				    "git's configuration and .gitmodules of all repositories have "
				    "more than %zu MiB, the last of them here; make this smaller, "
				    "or remove the repository",
				    KODA_SURVEY_BUDGET_CONFIG >> 20);
	budget->config += count;
	budget->asked = ASKED_MAX; /* a file costs more than reading the clock: read it now */
	return koda_survey_budget_take_entries(budget, 1, file, err);
}
