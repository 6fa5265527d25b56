/* SPDX-License-Identifier: MIT */
/* T-92. Directories that a command has replaced by a symbolic link. */
#ifndef KODA_RUN_PROJECT_LEFT_BEHIND_LINK_H
#define KODA_RUN_PROJECT_LEFT_BEHIND_LINK_H

#include "run/project/git_known.h"
#include "run/project/left_behind.h"

/* Adds the repository that tools find from path, which is a link now or lies behind one, if a
 * command may have made it. Fails: NOMEM. */
KODA_CHECK int koda_left_behind_check_link(struct koda_git_known *known, const char *path,
					   struct koda_left_behind *left, struct koda_error *err);

/* Returns true if the open directory has a repository of that name, of Mercurial and its like. */
bool koda_left_behind_is_other(int dir, const char *name);

#endif
