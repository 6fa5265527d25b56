/* SPDX-License-Identifier: MIT */
/* T-30. Finds the repositories below a directory, and what belongs to them. */
#ifndef KODA_RUN_PROJECT_GIT_SCAN_H
#define KODA_RUN_PROJECT_GIT_SCAN_H

#include "base/macros.h"
#include "base/strv.h"
#include "plan/fs_ops.h"
#include "run/project/dir_snapshot.h"
#include "run/project/survey_budget.h"

#include <stdbool.h>

/* Where a scan puts what it finds. The lists belong to the caller. */
struct koda_git_found {
	struct koda_strv *git_dirs;  /* git directories, of submodules and worktrees too */
	struct koda_strv *git_files; /* .git pointer files, and links on the way they lead */
	struct koda_strv *closed;    /* directories of the user that could not be opened (EACCES) */
	bool *shared;                /* may be NULL; set if a pointer file has hard links */
	struct koda_survey_budget *budget; /* of the survey */
	struct koda_dir_snapshot *kept;    /* may be NULL; gets the directories that were scanned */
};

/* Finds the repositories below root, at most depth directories down. Costs a few microseconds per
 * directory, and nothing per file where st_nlink counts subdirectories. Fails: LIMIT when the
 * budget is spent, DENIED if a directory was closed meanwhile, SYS, NOMEM. */
KODA_CHECK int koda_git_scan(const char *root, unsigned int depth,
			     const struct koda_git_found *found, struct koda_error *err);
/* Follows the pointers of all repositories in the lists, each target once: to git directories of
 * submodules and worktrees, and to their common directories (git_related.c). Fails: as
 * koda_git_scan, DENIED also if a directory on the way to a git directory is closed. */
KODA_CHECK int koda_git_related_follow(const struct koda_git_found *found, struct koda_error *err);

#endif
