/* SPDX-License-Identifier: MIT */
/*
 * T-92. What a snapshot tells about a directory that an index leads to: whether it lies where the
 * command could write, and whether the repository in it was there when the command started.
 */
#ifndef KODA_RUN_PROJECT_GIT_KNOWN_H
#define KODA_RUN_PROJECT_GIT_KNOWN_H

#include "base/strv.h"
#include "run/project/dir_snapshot.h"

struct koda_git_known {
	const struct koda_dir_snapshot *snapshot;
	struct koda_set ids;   /* inodes of the directories, filled in when needed */
	struct koda_strv tops; /* where scans began, filled in when needed */
};

#define KODA_GIT_KNOWN_INIT(of)                                                                    \
	{                                                                                          \
		.snapshot = (of), .ids = KODA_SET_INIT(KODA_SURVEY_BUDGET_BYTES)                   \
	}

/* Fills in the list of tops. Fails: NOMEM. */
KODA_CHECK int koda_git_known_list_tops(struct koda_git_known *known, struct koda_error *err);
/* Returns the top that covers the path; NULL if the snapshot has none. */
const char *koda_git_known_top(const struct koda_git_known *known, const char *path);

/* Sets *ret_i to the number of the open directory in the snapshot; KODA_SET_NONE if it has none.
 * Fails: NOMEM. */
KODA_CHECK int koda_git_known_find(struct koda_git_known *known, int dir, size_t *ret_i,
				   struct koda_error *err);

/* Tells whether the repository in the directory path, which is open as dir, was there when the
 * snapshot was made. git: the lstat() result of its .git. Fails: NOMEM. */
KODA_CHECK int koda_git_known_has(struct koda_git_known *known, int dir, const char *path,
				  const struct stat *git, bool *ret_has, struct koda_error *err);
void koda_git_known_clear(struct koda_git_known *known);

#endif
