/* SPDX-License-Identifier: MIT */
/*
 * T-92. Gitlinks: index entries of mode 160000, which are submodules. Git on the host enters each
 * of them that exists, and obeys its configuration.
 */
#ifndef KODA_RUN_PROJECT_GIT_SUBMODULES_H
#define KODA_RUN_PROJECT_GIT_SUBMODULES_H

#include "base/set.h"
#include "run/project/left_behind.h"

/* How many bytes and directories all indexes together may cost; beyond that they are reported. */
#define KODA_GIT_SUBMODULES_BYTES ((size_t)128 << 20)
#define KODA_GIT_SUBMODULES_DIRS  ((size_t)100000)

struct koda_git_submodules {
	const struct koda_dir_snapshot *snapshot;
	struct koda_set *found;            /* gets gitlinks in a survey; NULL in a check */
	struct koda_survey_budget *budget; /* of the survey */
	struct koda_left_behind *left;     /* gets findings in a check; NULL in a survey */
	struct koda_set ids;  /* inodes of the directories in the snapshot, filled in when needed */
	uint64_t deadline_ns; /* of a check */
	size_t bytes;         /* read so far */
	size_t dirs;          /* opened so far */
	struct koda_error *err;
};

/* Notes the gitlinks of every repository in the snapshot that has another one below it, or a
 * .gitmodules. A later command may add a repository of an earlier one to the index, which shows
 * against this list. Fails: LIMIT, NOMEM. */
KODA_CHECK int koda_git_submodules_note(struct koda_dir_snapshot *snapshot,
					struct koda_survey_budget *budget, struct koda_error *err);

/* Reads the index of the repository whose work tree is directory i of the snapshot, if the index or
 * a directory of the work tree has changed, and adds the new gitlinks. If the index cannot be read
 * within the bounds, its .git is added. Fails: NOMEM. */
KODA_CHECK int koda_git_submodules_check(struct koda_git_submodules *links, size_t i, bool touched);
void koda_git_submodules_clear(struct koda_git_submodules *links);

#endif
