/* SPDX-License-Identifier: MIT */
/* A project as a struct, for koda_sandbox_open, which takes its site. */
#ifndef KODA_RUN_PROJECT_H
#define KODA_RUN_PROJECT_H

#include "plan/seatbelt_cache.h"
#include "run/project/site.h"

#include <koda/project.h>

struct koda_project {
	char *root;                 /* owned; without symbolic links */
	struct koda_strv host_env;  /* owned */
	struct koda_site site;      /* site.root is NULL once a sandbox has taken it */
	bool site_used;             /* git directories and aliases were noted in the site */
	struct koda_policy *policy; /* owned; links in its paths resolved; NULL: not set yet */
	struct koda_seatbelt_cache profiles;
};

#define KODA_PROJECT_INIT                                                                          \
	{                                                                                          \
		.site = KODA_SITE_INIT                                                             \
	}

/* Copies host_env and loads the site. project must be KODA_PROJECT_INIT. Fails: as
 * koda_project_open. */
KODA_CHECK int koda_project_load(struct koda_project *project, const char *root,
				 const char *const *host_env, struct koda_error *err);
/* Resolves the paths of policy and makes it the project's. Takes policy over, also on failure.
 * Fails: as koda_project_set_policy. */
KODA_CHECK int koda_project_adopt_policy(struct koda_project *project, struct koda_policy *policy,
					 struct koda_error *err);
/* Gives the site and a copy of the policy to a sandbox. A site that was used, or was loaded more
 * than a moment ago, is loaded again, and the policy's links are resolved again: the file system
 * may have changed. Fails: as koda_project_set_policy. */
KODA_CHECK int koda_project_take(struct koda_project *project, struct koda_site *ret_site,
				 struct koda_policy **ret_policy, struct koda_error *err);
void koda_project_clear(struct koda_project *project);

#endif
