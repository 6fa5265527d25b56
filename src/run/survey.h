/* SPDX-License-Identifier: MIT */
#ifndef KODA_RUN_SURVEY_H
#define KODA_RUN_SURVEY_H

#include "run/sandbox.h"

/* Fills in the sandbox's rules and sockets, and what its site does not have yet. Fails: SYS, LIMIT,
 * NOMEM. */
KODA_CHECK int koda_survey(struct koda_sandbox *sandbox, struct koda_error *err);
/* The same anew, from the site on, unless that has just been done and no plan was made since. On
 * failure everything stays as it was. */
KODA_CHECK int koda_survey_for_plan(struct koda_sandbox *sandbox, struct koda_error *err);

#endif
