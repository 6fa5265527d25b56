/* SPDX-License-Identifier: MIT */
/*
 * The floor: what no policy can name away. Our own state is hidden; credential stores, the names
 * that host tools run or trust without asking, git's hooks and configuration, executable
 * directories and the kernel's control files are not writable.
 */
#ifndef KODA_POLICY_FLOOR_H
#define KODA_POLICY_FLOOR_H

#include "policy/pathindex.h"

#include <koda/rules.h>

/* The tables, NULL-terminated; every enforcer and the tests walk these. */
extern const char *const koda_floor_home_dirs[];     /* below $HOME */
extern const char *const koda_floor_home_files[];    /* below $HOME */
extern const char *const koda_floor_config_dirs[];   /* below $XDG_CONFIG_HOME */
extern const char *const koda_floor_hidden_config[]; /* below $XDG_CONFIG_HOME, not even readable */
extern const char *const koda_floor_project_names[]; /* below the project root */
extern const char *const koda_floor_git_names[];     /* below a git directory */
extern const char *const koda_floor_git_configs[];   /* of those, what allow_git_config opens */
extern const char *const koda_floor_kernel_paths[];
extern const char *const koda_floor_cache_dirs[]; /* below $HOME: copied on write, not protected */

/* Marks are 1 << enum koda_why. */
#define KODA_FLOOR_MARKS                                                                           \
	(1U << KODA_WHY_OWN_STATE | 1U << KODA_WHY_CREDENTIALS | 1U << KODA_WHY_PROJECT_NAME |     \
	 1U << KODA_WHY_GIT | 1U << KODA_WHY_EXEC_DIR | 1U << KODA_WHY_KERNEL |                    \
	 1U << KODA_WHY_OTHER_NAME | 1U << KODA_WHY_HIDDEN_NAME)
#define KODA_FLOOR_HIDDEN (1U << KODA_WHY_OWN_STATE | 1U << KODA_WHY_HIDDEN_NAME)

/* Besides reasons: a fence closes what lies below it for writing, a gate below opens it again. A
 * git directory's modules are fenced, and every submodule that exists is a gate: one that appears
 * meanwhile could bring hooks of its own. */
#define KODA_FLOOR_FENCE (1U << 30)
#define KODA_FLOOR_GATE  (1U << 31)

/* Adds the package caches of a place, which are copied on write; any reason to refuse outweighs
 * that. Fails: as koda_floor_add. */
KODA_CHECK int koda_floor_add_caches(struct koda_pathindex *index, const struct koda_place *place,
				     struct koda_error *err);

/* Adds the floor of a place to an index. Fails: POLICY for a path that is not absolute, NOMEM. */
KODA_CHECK int koda_floor_add(struct koda_pathindex *index, const struct koda_place *place,
			      bool allow_git_config, struct koda_error *err);

/* Marks the directories as the project's own git directories (KODA_WHY_GIT_DIR). */
KODA_CHECK int koda_floor_open(struct koda_pathindex *index, const char *const *dirs,
			       struct koda_error *err);

#endif
