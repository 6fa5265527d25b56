/* SPDX-License-Identifier: MIT */
/*
 * The survey: what the site of a sandbox is like when a command is planned. People and programs
 * change the project between commands, so every command after the first is preceded by another
 * survey.
 */
#ifndef KODA_RUN_SURVEY_H
#define KODA_RUN_SURVEY_H

#include "run/sandbox.h"

/* Fills in the sandbox's rules and sockets, and the rest of its site. Fails: SYS, LIMIT, NOMEM. */
KODA_CHECK int koda_survey(struct koda_sandbox *sandbox, struct koda_error *err);
/* Surveys again, with a new site, unless no plan was made since the last survey. On failure the
 * sandbox is unchanged. */
KODA_CHECK int koda_survey_for_plan(struct koda_sandbox *sandbox, struct koda_error *err);
/* Like koda_survey_for_plan, ahead of it: the next plan is made from this survey if it comes soon.
 */
KODA_CHECK int koda_survey_ahead(struct koda_sandbox *sandbox, struct koda_error *err);

/* The part of the survey that finds protected paths, in repositories below the root too: fills in
 * the rest of a site, but for sockets. It takes at most wall_ns. Fails: SYS, LIMIT, NOMEM. */
KODA_CHECK int koda_survey_project(struct koda_site *site, const struct koda_policy *policy,
				   uint64_t wall_ns, struct koda_error *err);

/* A part of that, for callers that name the paths they ask about: notes missing names, links, the
 * CA bundle and hard links of the site and its repositories. Fails: as the functions that note
 * these. */
KODA_CHECK int koda_survey_names(struct koda_site *site, const struct koda_policy *policy,
				 struct koda_error *err);
/* Makes the rules for the site, with aliases by other mounts. sockets (may be NULL) get their
 * aliases too. Fails: as koda_mount_alias_note and make. */
typedef int koda_rules_maker(const struct koda_policy *policy, const struct koda_place *place,
			     struct koda_rules **ret_rules, struct koda_error *err);
KODA_CHECK int koda_survey_rules(struct koda_site *site, const struct koda_policy *policy,
				 koda_rules_maker *make, struct koda_strv *sockets,
				 struct koda_rules **ret_rules, struct koda_error *err);

#endif
