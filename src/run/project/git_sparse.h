/* SPDX-License-Identifier: MIT */
/*
 * T-92. Directories of a sparse index. Their entries are in a tree object. If such a directory
 * exists in the work tree, git reads its entries into the index and enters the gitlinks among them.
 */
#ifndef KODA_RUN_PROJECT_GIT_SPARSE_H
#define KODA_RUN_PROJECT_GIT_SPARSE_H

#include "run/project/git_submodules.h"

/* Adds every repository below a sparse directory; with only_new, those that the snapshot does not
 * have. worktree is open, and top its path. Tree objects may be packed and are not read, so any
 * repository there counts as a gitlink. Usually the directory does not exist. Fails: LIMIT (too
 * many directories, or the deadline), NOMEM. */
KODA_CHECK int koda_git_sparse_check(struct koda_git_submodules *links, int worktree,
				     const char *top, struct koda_span path, bool only_new);

#endif
