/* SPDX-License-Identifier: MIT */
/*
 * T-17. Turns rules into mounts. The verdict functions give the state of every marked path: hidden,
 * readable, copied or writable. A mount is needed exactly where the state differs from that of the
 * parent directory, so the plan cannot contradict the verdicts.
 *
 *   hidden                  a mask; a veil if a hole lies below
 *   readable below hidden   a hole
 *   readable below writable a read-only bind; a placeholder if it does not exist; a symbolic link
 * is bound onto itself hidden, missing         a placeholder with a mask on it, at the topmost
 * missing directory writable                a bind copied (a cache)        an overlay; protected
 * paths in it are closed inside the overlay, and the host gets no placeholder
 *
 * T-11 Every writable directory above a path that is not writable is bound onto itself (an anchor),
 * so that it cannot be renamed or removed together with the protected path.
 *
 * The order is by depth, parents first: a broad mount never covers a narrow one.
 */
#include "plan/view.h"

#include "base/error.h"
#include "base/path.h"
#include "plan/closed_dirs.h"
#include "plan/path_order.h"
#include "plan/placeholder.h"
#include "plan/private_dirs.h"
#include "plan/protect.h"
#include "policy/policy.h"
#include "policy/rules.h"

#include <stdio.h>

/* Writes the reason of a verdict, such as "fs.deny_read /a/b". */
static void describe(struct koda_verdict reason, char *out, size_t size)
{
	(void)snprintf(out, size, "%s %.*s", koda_reason_name(reason.reason), (int)reason.rule.len,
		       reason.rule.len ? reason.rule.ptr : "");
}

/* Plans a path whose parent directory is in a copy of a cache, with another state. */
static int plan_in_copy(struct koda_view_planner *p, struct koda_span path,
			enum koda_view_state state, const struct koda_fs_stat *look, bool has_hole,
			const char *why)
{
	/* The command may change links in its copy; the target of a link has a rule of its own. */
	if (look->type == KODA_FILE_LINK)
		return KODA_OK;
	if (state == KODA_VIEW_READABLE || (state == KODA_VIEW_HIDDEN && !has_hole))
		return koda_plan_cache_close(
			&p->copy, path,
			state == KODA_VIEW_READABLE ? KODA_OP_READONLY : KODA_OP_MASK, why);
	if (look->type == KODA_FILE_MISSING)
		return KODA_OK;
	return state == KODA_VIEW_HIDDEN ? koda_view_add(p, KODA_OP_VEIL, path, NULL, why)
					 : koda_view_add(p, KODA_OP_WRITABLE, path, look, why);
}

/* Plans a path whose parent directory is read-only or hidden, with another state. */
static int plan_in_view(struct koda_view_planner *p, struct koda_span path,
			enum koda_view_state state, const struct koda_fs_stat *look, bool has_hole,
			const char *why)
{
	char hole[512];

	if (look->type == KODA_FILE_MISSING && state == KODA_VIEW_HIDDEN &&
	    koda_plan_cache_is_store(p->request, path))
		return koda_plan_cache_mask(&p->copy, path, KODA_OP_DIRECTORY, why);
	if (state == KODA_VIEW_HIDDEN && look->type == KODA_FILE_MISSING)
		return koda_plan_placeholder_hidden(p->plan, p->request, &p->mounted, path, why,
						    p->err);
	/* Nothing can be created here, and the target of a link has a rule of its own. */
	if (look->type == KODA_FILE_MISSING || look->type == KODA_FILE_LINK)
		return KODA_OK;
	if (state == KODA_VIEW_HIDDEN)
		return koda_view_add(p, has_hole ? KODA_OP_VEIL : KODA_OP_MASK, path, look, why);
	if (state == KODA_VIEW_COPIED)
		return koda_plan_cache(&p->copy, path, look);
	if (state == KODA_VIEW_WRITABLE)
		return koda_view_add(p, KODA_OP_WRITABLE, path, look, why);
	/* The reason of a hole is the rule that makes it readable. */
	describe(koda_rules_read(p->request->rules, path.ptr, path.len), hole, sizeof(hole));
	return koda_view_add(p, KODA_OP_HOLE, path, look, hole);
}

static int plan_path(struct koda_view_planner *p, struct koda_span path, bool has_hole)
{
	struct koda_verdict reason;
	enum koda_view_state state = koda_view_state_of(p, path, &reason);
	enum koda_view_state around = koda_view_state_around(p, path);
	bool private = koda_view_is_private(p, koda_plan_path_parent(path));
	struct koda_fs_stat look;
	char why[512];
	int r;

	if (reason.reason == KODA_REASON_KERNEL_HIDDEN)
		return KODA_OK; /* hidden with /proc, see koda_plan_private_proc */
	if (private && state != KODA_VIEW_WRITABLE)
		return KODA_OK; /* the private directory does not show it */
	/* No rule shows a file of the host in /dev or /proc. */
	if (koda_plan_is_all_private(path) || (!private && state == around))
		return KODA_OK;
	r = koda_view_look(p, path, &look);
	if (r < 0)
		return r;
	describe(reason, why, sizeof(why));
	if (!private && look.closed &&
	    (state == KODA_VIEW_HIDDEN ||
	     (state == KODA_VIEW_READABLE && around == KODA_VIEW_WRITABLE)))
		return koda_protect_closed(p, path, state, why);
	if (!private && around == KODA_VIEW_WRITABLE)
		return koda_protect_path(p, path, state, &look, has_hole, why);
	if (!private && around == KODA_VIEW_COPIED)
		return plan_in_copy(p, path, state, &look, has_hole, why);
	return plan_in_view(p, path, state, &look, has_hole, why);
}

static int plan_rules(struct koda_view_planner *p)
{
	koda_auto_free struct koda_path_mark *marked = NULL;
	size_t count = 0;
	int r = koda_plan_path_order(p->request->rules, &marked, &count, p->err);

	for (size_t i = 0; i < count && r == KODA_OK; i++)
		if (marked[i].path.len > 1)
			r = plan_path(p, marked[i].path, marked[i].has_hole);
	return r;
}

/* Binds a directory that no rule makes writable, if it lies below a private directory. */
static int bind_below_private(struct koda_view_planner *p, const char *dir, const char *why)
{
	struct koda_span path = koda_span_of(dir);
	struct koda_fs_stat look;
	int r;

	if (!koda_view_is_private(p, path))
		return KODA_OK;
	r = koda_view_look(p, path, &look);
	return r < 0 ? r : koda_view_add(p, KODA_OP_READONLY, path, &look, why);
}

static int plan_root(struct koda_view_planner *p)
{
	const char *const *dir = p->request->place->own_git_dirs;
	int r = bind_below_private(p, p->request->place->root, "the project");

	for (; dir && *dir && r == KODA_OK; dir++)
		r = bind_below_private(p, *dir, "the project's git directory");
	return r;
}

/* Masks the sockets of the host: connect(2) by path needs no writable mount. */
static int plan_sockets(struct koda_view_planner *p)
{
	struct koda_span root = koda_span_of(p->request->place->root);
	int r = KODA_OK;

	for (const char *const *s = p->request->sockets; s && *s && r == KODA_OK; s++) {
		struct koda_span path = koda_span_of(*s);
		struct koda_fs_stat look;

		if (koda_view_is_private(p, path) ||
		    koda_set_find(&p->mounted, path) != KODA_SET_NONE)
			continue;
		r = koda_view_look(p, path, &look);
		if (r == KODA_OK && look.closed && koda_path_covers(root, path))
			r = koda_protect_closed(p, path, KODA_VIEW_HIDDEN, "a socket of the host");
		if (r == KODA_OK && look.type != KODA_FILE_OTHER)
			continue;
		/* Keep it from being renamed: the next run finds it by its path. */
		if (r == KODA_OK)
			r = koda_protect_anchor(p, path, "a socket of the host");
		if (r == KODA_OK)
			r = koda_plan_cache_mask(&p->copy, path, 0, "a socket of the host");
		r = r > 0 ? KODA_OK : r;
	}
	return r;
}

int koda_plan_view(struct koda_plan *plan, const struct koda_plan_request *request,
		   struct koda_error *err)
{
	struct koda_view_planner p = { .plan = plan,
				       .request = request,
				       .mounted = KODA_SET_INIT(KODA_LIST_BYTES_MAX),
				       .closed = { KODA_SET_INIT(KODA_LIST_BYTES_MAX),
						   KODA_SET_INIT(KODA_LIST_BYTES_MAX) },
				       .err = err };
	struct koda_verdict top = koda_rules_write(request->rules, "/", 1);
	int r = koda_plan_private_dirs(plan, request, err);

	/* No view can make everything writable. */
	if (top.answer == KODA_ALLOW)
		return koda_fail_at(err, KODA_E_DENIED, 0, "fs.allow_write",
				    "/ cannot be writable as a whole; name what has to be");
	/* T-15. No view can hide everything: nothing would be left to mount on. */
	if (koda_rules_read(request->rules, "/", 1).answer == KODA_DENY)
		return koda_fail_at(err, KODA_E_DENIED, 0, "fs.deny_read",
				    "/ cannot be hidden as a whole; name what has to be");
	p.copy = (struct koda_cache_copy){ plan, request, &p.mounted, err };
	if (r == KODA_OK)
		r = plan_root(&p);
	if (r == KODA_OK)
		r = plan_rules(&p);
	if (r == KODA_OK)
		r = plan_sockets(&p);
	if (r == KODA_OK)
		r = koda_plan_check_closed_dirs(&p.closed[KODA_VIEW_READABLE], &p.mounted, err);
	if (r == KODA_OK)
		r = koda_plan_private_proc(plan, request, err);
	koda_set_clear(&p.mounted);
	koda_set_clear(&p.closed[KODA_VIEW_HIDDEN]);
	koda_set_clear(&p.closed[KODA_VIEW_READABLE]);
	return r;
}
