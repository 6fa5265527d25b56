/* SPDX-License-Identifier: MIT */
/* Paths that are not writable although the directory around them is. */
#ifndef KODA_PLAN_PROTECT_H
#define KODA_PLAN_PROTECT_H

#include "plan/view_planner.h"

/* T-11. Binds every writable directory above path onto itself (an anchor) unless it is a mount
 * already, topmost first, so that it cannot be renamed or removed. A symbolic link or a file on the
 * way is mounted onto itself instead, and 1 is returned: the target of a link has a rule of its
 * own, and nothing exists below a file. Fails: as fs->look, NOMEM. */
KODA_CHECK int koda_protect_anchor(struct koda_view_planner *p, struct koda_span path,
				   const char *why);
/* Protects or hides path, which would be writable by the state of its parent. Fails: as fs->look,
 * NOMEM. */
KODA_CHECK int koda_protect_path(struct koda_view_planner *p, struct koda_span path,
				 enum koda_view_state state, const struct koda_fs_stat *look,
				 bool has_hole, const char *why);
/* T-15. Gives an unreadable directory above path the state of path, as a whole: a command of
 * another sandbox may make it readable while this one runs. Fails: as fs->look, NOMEM. */
KODA_CHECK int koda_protect_closed(struct koda_view_planner *p, struct koda_span path,
				   enum koda_view_state state, const char *why);

#endif
