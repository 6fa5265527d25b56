/* SPDX-License-Identifier: MIT */
/*
 * The floor: protections that no policy can lift. The state of koda is hidden, and so are kernel
 * files that describe the host beyond need. Not writable are koda's policies, credential stores,
 * project files that host tools run or trust without asking, git's hooks and configuration,
 * executable directories and the kernel's control files.
 */
#ifndef KODA_POLICY_FLOOR_H
#define KODA_POLICY_FLOOR_H

#include "policy/pathindex.h"

#include <koda/rules.h>

/* The tables, NULL-terminated. Backends and tests use them. */
extern const char *const koda_floor_home_dirs[];     /* below $HOME */
extern const char *const koda_floor_home_files[];    /* below $HOME */
extern const char *const koda_floor_config_dirs[];   /* below $XDG_CONFIG_HOME */
extern const char *const koda_floor_hidden_config[]; /* below $XDG_CONFIG_HOME, not even readable */
extern const char *const koda_floor_policy_dirs[];   /* below $XDG_CONFIG_HOME */
extern const char *const koda_floor_project_names[]; /* below the project root */
extern const char
	*const koda_floor_inner_names[]; /* below the project root, if their directory exists */
extern const char *const koda_floor_git_names[];   /* below a git directory */
extern const char *const koda_floor_git_configs[]; /* those that allow_git_config makes writable */
extern const char *const koda_floor_hook_names[];  /* in a directory of hooks */
/* At the top of a work tree: never writable; and further names that make it a git directory, of
 * which the first missing one is reserved. */
extern const char *const koda_floor_worktree_link;
extern const char *const koda_floor_worktree_parts[];
extern const char *const
	koda_floor_git_modules; /* below a git directory; only existing submodules are writable */
extern const char *const koda_floor_kernel_paths[];
extern const char *const koda_floor_kernel_hidden[]; /* not even readable */
extern const char
	*const koda_floor_kernel_mounts[]; /* not readable if a file system is mounted there */
extern const char *const koda_floor_cache_dirs[]; /* below $HOME: copied on write, not protected */

/* Marks are 1 << enum koda_reason. */
#define KODA_FLOOR_MARKS                                                                           \
	(1U << KODA_REASON_OWN_STATE | 1U << KODA_REASON_CREDENTIALS |                             \
	 1U << KODA_REASON_PROJECT_NAME | 1U << KODA_REASON_GIT | 1U << KODA_REASON_EXEC_DIR |     \
	 1U << KODA_REASON_KERNEL | 1U << KODA_REASON_OTHER_NAME | 1U << KODA_REASON_HIDDEN_NAME | \
	 1U << KODA_REASON_OWN_POLICY | 1U << KODA_REASON_KERNEL_HIDDEN)
#define KODA_FLOOR_HIDDEN                                                                          \
	(1U << KODA_REASON_OWN_STATE | 1U << KODA_REASON_HIDDEN_NAME |                             \
	 1U << KODA_REASON_KERNEL_HIDDEN)

/* Marks that are no reasons: nothing below CLOSED is writable, except below REOPENED. The modules
 * directory of a git directory is CLOSED, and the git directory of every existing submodule is
 * REOPENED: a submodule that is created later could bring hooks of its own. */
#define KODA_FLOOR_CLOSED   (1U << 30)
#define KODA_FLOOR_REOPENED (1U << 31)

/* Adds the package caches of a place, which are copied on write unless a rule denies writing.
 * Fails: as koda_floor_add. */
KODA_CHECK int koda_floor_add_caches(struct koda_pathindex *index, const struct koda_place *place,
				     struct koda_error *err);

/* Adds the floor of a place to an index. Fails: POLICY for a path that is not absolute, NOMEM. */
KODA_CHECK int koda_floor_add(struct koda_pathindex *index, const struct koda_place *place,
			      bool allow_git_config, struct koda_error *err);

/* Marks the directories as the project's own git directories (KODA_REASON_GIT_DIR). */
KODA_CHECK int koda_floor_open(struct koda_pathindex *index, const char *const *dirs,
			       struct koda_error *err);

#endif
