/* SPDX-License-Identifier: MIT */
/* The state of planning a view, and the questions that its parts ask. */
#ifndef KODA_PLAN_VIEW_PLANNER_H
#define KODA_PLAN_VIEW_PLANNER_H

#include "plan/cache.h"
#include "plan/plan.h"
#include "plan/request.h"

/* How a path appears in the view. */
enum koda_view_state {
	KODA_VIEW_HIDDEN = 0,
	KODA_VIEW_READABLE,
	KODA_VIEW_COPIED, /* writable in a copy; the files of the host do not change */
	KODA_VIEW_WRITABLE
};

struct koda_view_planner {
	struct koda_plan *plan;
	const struct koda_plan_request *request;
	struct koda_set mounted;     /* paths that have a mount already */
	struct koda_cache_copy copy; /* with this plan, request and set of mounts */
	/* The parent of the last path: neighbours in the list mostly share it. */
	struct koda_span dir;
	enum koda_view_state dir_state;
	bool dir_exists; /* false: unknown */
	/* Unreadable directories that are hidden, or read-only, as a whole. */
	struct koda_set closed[KODA_VIEW_READABLE + 1];
	struct koda_error *err;
};

/* Returns the state of path, and the verdict that decided. */
enum koda_view_state koda_view_state_of(const struct koda_view_planner *p, struct koda_span path,
					struct koda_verdict *ret_reason);
/* Returns the state of the parent directory of path. */
enum koda_view_state koda_view_state_around(struct koda_view_planner *p, struct koda_span path);
/* Returns true if path lies in a private directory and not below a mount inside it. */
bool koda_view_is_private(const struct koda_view_planner *p, struct koda_span path);
/* Plans a mount operation; look may be NULL. Fails: LIMIT, NOMEM. */
KODA_CHECK int koda_view_add(struct koda_view_planner *p, enum koda_op_kind kind,
			     struct koda_span path, const struct koda_fs_stat *look,
			     const char *why);
/* Calls fs->look. */
KODA_CHECK int koda_view_look(struct koda_view_planner *p, struct koda_span path,
			      struct koda_fs_stat *look);

#endif
