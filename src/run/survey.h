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

/* Its parts, for who wants to know the rules alone. What belongs to a site and its repositories:
 * what is missing, a link, the authority, or has another name. Fails: as what notes these. */
KODA_CHECK int koda_survey_names(struct koda_site *site, const struct koda_policy *policy,
				 struct koda_error *err);
/* The rules for the site, with what is mounted twice; sockets (may be NULL) get their further
 * names. Fails: as koda_site_note_twins and make. */
typedef int koda_rules_maker(const struct koda_policy *policy, const struct koda_place *place,
			     struct koda_rules **ret_rules, struct koda_error *err);
KODA_CHECK int koda_survey_rules(struct koda_site *site, const struct koda_policy *policy,
				 koda_rules_maker *make, struct koda_strv *sockets,
				 struct koda_rules **ret_rules, struct koda_error *err);

#endif
