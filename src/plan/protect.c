/* SPDX-License-Identifier: MIT */
#include "plan/protect.h"

#include "base/error.h"
#include "plan/path_order.h"
#include "plan/placeholder.h"

/* NOLINTNEXTLINE(misc-no-recursion): bounded by the length of the path */
int koda_protect_anchor(struct koda_view_planner *p, struct koda_span path, const char *why)
{
	struct koda_span above = koda_plan_path_parent(path);
	struct koda_fs_stat look = { .type = KODA_FILE_MISSING };
	struct koda_verdict reason;
	int r;

	if (above.len <= 1 || koda_set_find(&p->mounted, above) != KODA_SET_NONE ||
	    koda_view_state_of(p, above, &reason) != KODA_VIEW_WRITABLE)
		return KODA_OK;
	r = koda_protect_anchor(p, above, why);
	if (r == KODA_OK)
		r = koda_view_look(p, above, &look);
	if (r != KODA_OK || look.type == KODA_FILE_MISSING)
		return r;
	r = koda_view_add(p, look.type == KODA_FILE_LINK ? KODA_OP_PIN : KODA_OP_WRITABLE, above,
			  &look, why);
	return r == KODA_OK && look.type != KODA_FILE_DIR ? 1 : r;
}

/* Returns the topmost missing directory above path, or path itself. Empty if a file is on the way:
 * that file has a mount, and nothing can be created below it. */
static int first_missing(struct koda_view_planner *p, struct koda_span path,
			 struct koda_span *ret_missing)
{
	struct koda_fs_stat look = { .type = KODA_FILE_MISSING };
	int r = KODA_OK;

	*ret_missing = path;
	if (p->dir_exists)
		return KODA_OK;
	while (path.len > 1 && r == KODA_OK && look.type == KODA_FILE_MISSING) {
		*ret_missing = path;
		path = koda_plan_path_parent(path);
		r = koda_view_look(p, path, &look);
	}
	if (look.type == KODA_FILE_OTHER)
		ret_missing->len = 0;
	else
		p->dir_exists = path.len == p->dir.len && r == KODA_OK;
	return r;
}

/* Plans a placeholder for path, which does not exist and must not be created. */
static int reserve(struct koda_view_planner *p, struct koda_span path, enum koda_view_state state,
		   const char *why)
{
	const char *contents = koda_plan_placeholder_contents(p->request->rules, path);
	struct koda_span missing;
	int r = first_missing(p, path, &missing);

	/* A missing parent directory is reserved instead, with everything below it. */
	if (r == KODA_OK && missing.len < path.len)
		contents = NULL;
	if (r < 0 || missing.len == 0 || koda_set_find(&p->mounted, missing) != KODA_SET_NONE)
		return r;
	r = koda_plan_placeholder(p->plan, p->request->rules, missing, contents, why, p->err);
	if (r < 0)
		return r;
	if (state == KODA_VIEW_HIDDEN &&
	    !contents) /* also from files that the host creates there later */
		return koda_plan_placeholder_hide(p->plan, &p->mounted, missing, path, why, p->err);
	return koda_view_add(p, state == KODA_VIEW_HIDDEN ? KODA_OP_MASK : KODA_OP_READONLY,
			     missing, NULL, why);
}

int koda_protect_path(struct koda_view_planner *p, struct koda_span path,
		      enum koda_view_state state, const struct koda_fs_stat *look, bool has_hole,
		      const char *why)
{
	int r = koda_protect_anchor(p, path, why);

	if (r != KODA_OK)
		return r < 0 ? r : KODA_OK;
	if (look->type == KODA_FILE_LINK)
		return koda_view_add(p, KODA_OP_PIN, path, look, why);
	if (look->type == KODA_FILE_MISSING ||
	    (look->is_git_placeholder && koda_plan_placeholder_contents(p->request->rules, path)))
		return reserve(p, path, state, why);
	if (state == KODA_VIEW_HIDDEN)
		return koda_view_add(p, has_hole ? KODA_OP_VEIL : KODA_OP_MASK, path, look, why);
	return koda_view_add(p, KODA_OP_READONLY, path, look, why);
}

int koda_protect_closed(struct koda_view_planner *p, struct koda_span path,
			enum koda_view_state state, const char *why)
{
	struct koda_fs_stat look = { .closed = true };
	int r = KODA_OK;

	for (; look.closed && path.len > 1 && r == KODA_OK; r = koda_view_look(p, path, &look))
		path = koda_plan_path_parent(path);
	if (r < 0 ||
	    (look.type != KODA_FILE_DIR && koda_view_state_around(p, path) != KODA_VIEW_WRITABLE) ||
	    koda_set_find(&p->closed[KODA_VIEW_HIDDEN], path) != KODA_SET_NONE ||
	    koda_set_find(&p->closed[state], path) != KODA_SET_NONE)
		return r;
	if (koda_set_add(&p->closed[state], path, NULL) < 0)
		return koda_fail_nomem(p->err);
	return koda_protect_path(p, path, state, &look, false, why);
}
