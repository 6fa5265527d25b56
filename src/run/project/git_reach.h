/* SPDX-License-Identifier: MIT */
/* T-44. Files that git's configuration names and a command may write. */
#ifndef KODA_RUN_PROJECT_GIT_REACH_H
#define KODA_RUN_PROJECT_GIT_REACH_H

#include "base/macros.h"

struct koda_error;
struct koda_policy;
struct koda_site;

/* Notes hook directories, included files, attributes, programs and linked hooks that lie in the
 * project or wherever else the policy lets a command write. Reads the user's configuration and that
 * of every repository of the site, so it comes after the scan. Fails: as
 * koda_git_settings_read. */
KODA_CHECK int koda_git_reach_note(struct koda_site *site, const struct koda_policy *policy,
				   struct koda_error *err);

#endif
