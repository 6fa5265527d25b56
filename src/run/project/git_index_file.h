/* SPDX-License-Identifier: MIT */
/*
 * T-92. The index of a git directory: one file, or two if it is a split index. The lengths in it
 * depend on the object format of the repository, which its configuration tells.
 */
#ifndef KODA_RUN_PROJECT_GIT_INDEX_FILE_H
#define KODA_RUN_PROJECT_GIT_INDEX_FILE_H

#include "run/project/dir_snapshot.h"
#include "run/project/git_index.h"

/* How many bytes of all indexes together are read. */
#define KODA_GIT_INDEX_FILE_BYTES ((size_t)128 << 20)

/* Calls see for the gitlinks and sparse directories of the index in an open git directory; for none
 * if there is no index. *spent counts the bytes. Fails: INVALID if the index cannot be read, or is
 * not as git writes it; what see returned. */
KODA_CHECK int koda_git_index_file_walk(int git_dir, size_t *spent, koda_git_index_fn *see,
					void *ctx);

/* Tells whether the index has changed since the snapshot began: though no directory is new, it may
 * lead to one of an earlier command, or to one deeper than the scan. */
bool koda_git_index_file_is_new(int git_dir, const struct koda_dir_snapshot *snapshot);

#endif
