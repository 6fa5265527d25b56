/* SPDX-License-Identifier: MIT */
/*
 * T-92. Gitlinks: index entries of mode 160000, which are submodules. Git on the host enters each
 * of them that exists, and obeys its configuration.
 */
#ifndef KODA_RUN_PROJECT_GIT_SUBMODULES_H
#define KODA_RUN_PROJECT_GIT_SUBMODULES_H

#include "base/set.h"
#include "run/project/git_known.h"
#include "run/project/left_behind.h"

/* How many directories all indexes together may cost; beyond that they are reported. */
#define KODA_GIT_SUBMODULES_DIRS ((size_t)100000)

struct koda_git_submodules {
	struct koda_git_known known;
	struct koda_set *found;            /* gets gitlinks in a survey; NULL in a check */
	struct koda_survey_budget *budget; /* of the survey */
	struct koda_left_behind *left;     /* gets findings in a check; NULL in a survey */
	uint64_t deadline_ns;              /* of a check */
	size_t bytes;                      /* read so far */
	size_t dirs;                       /* opened so far */
	struct koda_error *err;
};

/* Notes the gitlinks of every repository in the snapshot that has another one below it, or a
 * .gitmodules. A later command may add a repository of an earlier one to the index, which shows
 * against this list. Fails: LIMIT, NOMEM. */
KODA_CHECK int koda_git_submodules_note(struct koda_dir_snapshot *snapshot,
					struct koda_survey_budget *budget, struct koda_error *err);

/* Both read an index, if it or a directory of the work tree (touched) has changed, and add the new
 * gitlinks. If the index cannot be read, or not within the bounds, the git directory is added.
 * Fail: NOMEM. */

/* Checks the repository whose work tree is directory i of the snapshot. */
KODA_CHECK int koda_git_submodules_check(struct koda_git_submodules *links, size_t i, bool touched);
/* Checks a work tree that has no .git in the snapshot. */
KODA_CHECK int koda_git_submodules_check_tree(struct koda_git_submodules *links,
					      const struct koda_dir_snapshot_tree *tree,
					      bool touched);

#endif
