/* SPDX-License-Identifier: MIT */
/* T-43. Work trees: directories that must not become git directories themselves. */
#ifndef KODA_RUN_PROJECT_WORKTREE_H
#define KODA_RUN_PROJECT_WORKTREE_H

#include "base/macros.h"

#include <stdbool.h>
#include <stddef.h>

struct koda_error;
struct koda_policy;
struct koda_site;

/* Notes names that must not be created, so that no directory becomes one that git obeys: at the top
 * of every work tree of the site, in the project's root, wherever else the policy lets a command
 * write, and in submodules that are not checked out. Comes after the scan. Fails: LIMIT if there
 * are too many submodules, DENIED if a directory was closed meanwhile, as koda_worktree_check_top,
 * SYS, NOMEM. */
KODA_CHECK int koda_worktree_note(struct koda_site *site, const struct koda_policy *policy,
				  struct koda_error *err);

/* Fails if root, a path without links, lies in a git directory and is no work tree: DENIED,
 * NOMEM. */
KODA_CHECK int koda_worktree_check_root(const char *root, struct koda_error *err);

/* Fails if the top of a work tree is a git directory itself, besides its .git: DENIED. */
KODA_CHECK int koda_worktree_check_top(const char *top, struct koda_error *err);

/* Tells whether the name exists in the directory. */
bool koda_worktree_has(const char *dir, const char *name);

/* Returns the linked work tree that git_dir belongs to, owned by the caller; NULL if there is none.
 * Fails: DENIED if git_dir is closed, SYS, NOMEM. */
KODA_CHECK int koda_worktree_linked(const char *git_dir, char **ret_top, struct koda_error *err);

/* Returns the length of path without its last name ".git", or 0 if that is not its last name. */
size_t koda_worktree_top_len(const char *path);

#endif
