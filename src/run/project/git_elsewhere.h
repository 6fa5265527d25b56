/* SPDX-License-Identifier: MIT */
/*
 * T-92. Work trees that are not found by a .git in the project: the main one of a linked worktree,
 * one around the project, one that core.worktree names. Git on the host uses them too, and their
 * indexes may lead into the project.
 */
#ifndef KODA_RUN_PROJECT_GIT_ELSEWHERE_H
#define KODA_RUN_PROJECT_GIT_ELSEWHERE_H

#include "base/macros.h"

#include <stddef.h>

struct koda_error;
struct koda_policy;
struct koda_site;

/* Adds the work tree at top, whose git directory is git_dir, to the trees of the snapshot, if it
 * contains what a command may write, or lies in it and has no .git of its own. Does nothing if the
 * site has no snapshot. Fails: LIMIT, NOMEM. */
KODA_CHECK int koda_git_elsewhere_add(struct koda_site *site, const struct koda_policy *policy,
				      const char *top, const char *git_dir, struct koda_error *err);
/* Adds the work tree that git_dir, TOP/.git, lies in, if it contains what a command may write. len:
 * of TOP. */
KODA_CHECK int koda_git_elsewhere_add_around(struct koda_site *site,
					     const struct koda_policy *policy, const char *git_dir,
					     size_t len, struct koda_error *err);

#endif
