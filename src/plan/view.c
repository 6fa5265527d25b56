/* SPDX-License-Identifier: MIT */
/*
 * T-17. Rules -> mounts. The verdict functions say for every marked path what it is: hidden,
 * readable or writable. A mount is needed exactly where that differs from the directory above, so
 * the plan cannot say anything else than the verdicts do.
 *
 *   hidden                  a mask; a veil if something below is to be readable
 *   readable below hidden   a hole
 *   readable below writable a read-only bind; a placeholder if it does not exist; a link is pinned
 *                           to itself
 *   writable                a bind
 *   copied (a cache)        an overlay; what is not to be written in it is closed in the overlay,
 *                           and never by something on the host
 *
 * T-11 Every writable directory above something that is not writable is bound onto itself (an
 * anchor), so that it cannot be renamed or removed together with what it protects.
 *
 * Order is by depth, parents first: a broad mount can never cover a narrow one.
 */
#include "plan/plan.h"

#include "base/diag.h"
#include "base/path.h"
#include "base/set.h"
#include "policy/floor.h"
#include "policy/policy.h"
#include "policy/rules.h"

#include <stdio.h>

enum state {
	STATE_HIDDEN = 0,
	STATE_READABLE,
	STATE_COPIED, /* writable, without the host's files changing */
	STATE_WRITABLE
};

struct planner {
	struct koda_plan *plan;
	const struct koda_plan_request *request;
	struct koda_set mounted; /* paths that have a mount already */
	struct koda_copy copy;   /* the same, for those who plan caches */
	/* Neighbours are planned one after the other, and lie in the same directory. */
	struct koda_span dir;
	enum state dir_state;
	bool dir_exists;                          /* false: not known */
	struct koda_set shut[STATE_READABLE + 1]; /* closed to us, and by now hidden, read-only */
	struct koda_error *err;
};

static enum state state_of(const struct planner *p, struct koda_span path,
			   struct koda_verdict *ret_reason)
{
	struct koda_verdict read;
	struct koda_verdict write;

	koda_rules_both(p->request->rules, path, &read, &write);
	*ret_reason = read.answer == KODA_DENY ? read : write;
	if (read.answer == KODA_DENY)
		return STATE_HIDDEN;
	if (write.answer == KODA_DENY)
		return STATE_READABLE;
	return write.why == KODA_WHY_CACHE ? STATE_COPIED : STATE_WRITABLE;
}

/* Of the directory that path is in. */
static enum state state_around(struct planner *p, struct koda_span path)
{
	struct koda_span dir = koda_plan_parent(path);
	struct koda_verdict ignored;

	if (!koda_span_eq(p->dir, dir)) {
		p->dir = dir;
		p->dir_state = state_of(p, dir, &ignored);
		p->dir_exists = false;
	}
	return p->dir_state;
}

/* Does path lie in a private directory, outside everything that is bound into it? */
static bool is_private(const struct planner *p, struct koda_span path)
{
	bool inside = koda_plan_is_own(path);

	for (; inside && path.len > 1; path = koda_plan_parent(path))
		if (koda_set_find(&p->mounted, path) != KODA_SET_NONE)
			return false;
	return inside;
}

static int add(struct planner *p, enum koda_op_kind kind, struct koda_span path,
	       const struct koda_look *look, const char *why)
{
	struct koda_op op = { .kind = kind, .text1 = path };
	int r = koda_set_add(&p->mounted, path, NULL);

	if (r < 0)
		return koda_fail_room(p->err, r, "the list of mounts");
	if (kind == KODA_OP_MASK) {
		op.flags = look && look->thing == KODA_THING_DIR ? KODA_OP_DIRECTORY : 0;
	} else if (look) {
		op.n1 = look->dev;
		op.n2 = look->ino;
	}
	if (kind == KODA_OP_VEIL) {
		op.n1 = 64ULL * 1024;
		op.n2 = 0111;
	}
	return koda_plan_add(p->plan, &op, why, p->err);
}

static int look_at(struct planner *p, struct koda_span path, struct koda_look *look)
{
	char text[KODA_PATH_MAX + 1];

	memcpy(text, path.ptr, path.len);
	text[path.len] = '\0';
	return p->request->world->look(p->request->world->ctx, text, look, p->err);
}

/* "fs.deny_read /a/b" */
static void describe(struct koda_verdict reason, char *out, size_t size)
{
	(void)snprintf(out, size, "%s %.*s", koda_why_name(reason.why), (int)reason.rule.len,
		       reason.rule.len ? reason.rule.ptr : "");
}

/* Binds every writable directory above path that is not a mount yet onto itself, topmost first.
 * A link or a file on the way is held in its place instead, and 1 is given back: what a link leads
 * to has a rule of its own, and below a file there is nothing. */
/* NOLINTNEXTLINE(misc-no-recursion): bounded by the length of the path */
static int anchor(struct planner *p, struct koda_span path, const char *why)
{
	struct koda_span above = koda_plan_parent(path);
	struct koda_look look = { .thing = KODA_THING_MISSING };
	struct koda_verdict reason;
	int r;

	if (above.len <= 1 || koda_set_find(&p->mounted, above) != KODA_SET_NONE ||
	    state_of(p, above, &reason) != STATE_WRITABLE)
		return KODA_OK;
	r = anchor(p, above, why);
	if (r == KODA_OK)
		r = look_at(p, above, &look);
	if (r != KODA_OK || look.thing == KODA_THING_MISSING)
		return r;
	r = add(p, look.thing == KODA_THING_LINK ? KODA_OP_PIN : KODA_OP_WRITABLE, above, &look,
		why);
	return r == KODA_OK && look.thing != KODA_THING_DIR ? 1 : r;
}

/* The topmost directory on the way to path that does not exist, or path itself. Empty if there is
 * a file on the way, which is held in its place: below that nothing can be made. */
static int first_missing(struct planner *p, struct koda_span path, struct koda_span *ret_missing)
{
	struct koda_look look = { .thing = KODA_THING_MISSING };
	int r = KODA_OK;

	*ret_missing = path;
	if (p->dir_exists)
		return KODA_OK;
	while (path.len > 1 && r == KODA_OK && look.thing == KODA_THING_MISSING) {
		*ret_missing = path;
		path = koda_plan_parent(path);
		r = look_at(p, path, &look);
	}
	if (look.thing == KODA_THING_OTHER)
		ret_missing->len = 0;
	else
		p->dir_exists = path.len == p->dir.len && r == KODA_OK;
	return r;
}

/* path does not exist, and must not come to exist. */
static int reserve(struct planner *p, struct koda_span path, enum state state, const char *why)
{
	const char *contents = koda_plan_neutral(p->request->rules, path);
	struct koda_span missing;
	int r = first_missing(p, path, &missing);

	/* Something above is missing too: that is reserved instead, and nothing fits below it. */
	if (r == KODA_OK && missing.len < path.len)
		contents = NULL;
	if (r < 0 || missing.len == 0 || koda_set_find(&p->mounted, missing) != KODA_SET_NONE)
		return r;
	r = koda_plan_hold(p->plan, p->request->rules, missing, contents, why, p->err);
	if (r < 0)
		return r;
	return add(p, state == STATE_HIDDEN && contents ? KODA_OP_MASK : KODA_OP_READONLY, missing,
		   NULL, why);
}

/* path is writable by its surroundings and must not be. */
static int protect(struct planner *p, struct koda_span path, enum state state,
		   const struct koda_look *look, bool has_hole, const char *why)
{
	int r = anchor(p, path, why);

	if (r != KODA_OK)
		return r < 0 ? r : KODA_OK;
	if (look->thing == KODA_THING_LINK)
		return add(p, KODA_OP_PIN, path, look, why);
	if (look->thing == KODA_THING_MISSING ||
	    (look->neutral && koda_plan_neutral(p->request->rules, path)))
		return reserve(p, path, state, why);
	if (state == STATE_HIDDEN)
		return add(p, has_hole ? KODA_OP_VEIL : KODA_OP_MASK, path, look, why);
	return add(p, KODA_OP_READONLY, path, look, why);
}

/* T-15. Something that is not as its surroundings is in a directory that is closed to us. A command
 * of another sandbox may open that while this one runs, so all of it is treated alike. */
static int shut(struct planner *p, struct koda_span path, enum state state, const char *why)
{
	struct koda_look look = { .closed = true };
	int r = KODA_OK;

	for (; look.closed && path.len > 1 && r == KODA_OK; r = look_at(p, path, &look))
		path = koda_plan_parent(path);
	if (r < 0 || (look.thing != KODA_THING_DIR && state_around(p, path) != STATE_WRITABLE) ||
	    koda_set_find(&p->shut[STATE_HIDDEN], path) != KODA_SET_NONE ||
	    koda_set_find(&p->shut[state], path) != KODA_SET_NONE)
		return r;
	if (koda_set_add(&p->shut[state], path, NULL) < 0)
		return koda_fail_nomem(p->err);
	return protect(p, path, state, &look, false, why);
}

/* Something other than the copy around it. */
static int plan_in_copy(struct planner *p, struct koda_span path, enum state state,
			const struct koda_look *look, bool has_hole, const char *why)
{
	/* A link in a copy is the command's to change; what it leads to has a rule of its own. */
	if (look->thing == KODA_THING_LINK)
		return KODA_OK;
	if (state == STATE_READABLE || (state == STATE_HIDDEN && !has_hole))
		return koda_plan_close_copy(
			&p->copy, path, state == STATE_READABLE ? KODA_OP_READONLY : KODA_OP_MASK,
			why);
	if (look->thing == KODA_THING_MISSING)
		return KODA_OK;
	return state == STATE_HIDDEN ? add(p, KODA_OP_VEIL, path, NULL, why)
				     : add(p, KODA_OP_WRITABLE, path, look, why);
}

static int plan_path(struct planner *p, struct koda_span path, bool has_hole)
{
	struct koda_verdict reason;
	enum state state = state_of(p, path, &reason);
	enum state around = state_around(p, path);
	bool private = is_private(p, koda_plan_parent(path));
	struct koda_look look;
	char why[512];
	int r;

	if (private && state != STATE_WRITABLE)
		return KODA_OK; /* the host's is not there to be seen */
	/* What is the sandbox's own as a whole is not made the host's by a rule. */
	if (koda_plan_is_all_own(path) || (!private && state == around))
		return KODA_OK;
	r = look_at(p, path, &look);
	if (r < 0)
		return r;
	describe(reason, why, sizeof(why));
	if (!private && look.closed &&
	    (state == STATE_HIDDEN || (state == STATE_READABLE && around == STATE_WRITABLE)))
		return shut(p, path, state, why);
	if (!private && around == STATE_WRITABLE)
		return protect(p, path, state, &look, has_hole, why);
	if (!private && around == STATE_COPIED)
		return plan_in_copy(p, path, state, &look, has_hole, why);
	if (look.thing == KODA_THING_MISSING && state == STATE_HIDDEN &&
	    koda_plan_is_store(p->request, path))
		return koda_plan_mask_loosely(&p->copy, path, KODA_OP_DIRECTORY, why);
	/* Elsewhere nothing can be created, and a link leads to where its own rule holds. */
	if (look.thing == KODA_THING_MISSING || look.thing == KODA_THING_LINK)
		return KODA_OK;
	if (state == STATE_HIDDEN)
		return add(p, has_hole ? KODA_OP_VEIL : KODA_OP_MASK, path, &look, why);
	if (state == STATE_COPIED)
		return koda_plan_cache(&p->copy, path, &look);
	if (state == STATE_WRITABLE)
		return add(p, KODA_OP_WRITABLE, path, &look, why);
	/* What makes a hole is the rule that lets it be read. */
	describe(koda_rules_read(p->request->rules, path.ptr, path.len), why, sizeof(why));
	return add(p, KODA_OP_HOLE, path, &look, why);
}

static int plan_rules(struct planner *p)
{
	koda_auto_free struct koda_marked *marked = NULL;
	size_t count = 0;
	int r = koda_plan_order(p->request->rules, &marked, &count, p->err);

	for (size_t i = 0; i < count && r == KODA_OK; i++)
		if (marked[i].path.len > 1)
			r = plan_path(p, marked[i].path, marked[i].has_hole);
	return r;
}

/* What is not writable still has to be there, also below a private directory. */
static int show(struct planner *p, const char *dir, const char *why)
{
	struct koda_span path = koda_span_of(dir);
	struct koda_look look;
	int r;

	if (!is_private(p, path))
		return KODA_OK;
	r = look_at(p, path, &look);
	return r < 0 ? r : add(p, KODA_OP_READONLY, path, &look, why);
}

static int plan_root(struct planner *p)
{
	const char *const *dir = p->request->place->git_open;
	int r = show(p, p->request->place->root, "the project");

	for (; dir && *dir && r == KODA_OK; dir++)
		r = show(p, *dir, "the project's git directory");
	return r;
}

/* The host's sockets that would still be reachable by path: connecting needs no write access. */
static int plan_sockets(struct planner *p)
{
	struct koda_span root = koda_span_of(p->request->place->root);
	int r = KODA_OK;

	for (const char *const *s = p->request->sockets; s && *s && r == KODA_OK; s++) {
		struct koda_span path = koda_span_of(*s);
		struct koda_look look;

		if (is_private(p, path) || koda_set_find(&p->mounted, path) != KODA_SET_NONE)
			continue;
		r = look_at(p, path, &look);
		if (r == KODA_OK && look.closed && koda_path_covers(root, path))
			r = shut(p, path, STATE_HIDDEN, "a socket of the host");
		if (r == KODA_OK && look.thing != KODA_THING_OTHER)
			continue;
		/* It must not be moved either: only its name tells the next run where it is. */
		if (r == KODA_OK)
			r = anchor(p, path, "a socket of the host");
		if (r == KODA_OK)
			r = koda_plan_mask_loosely(&p->copy, path, 0, "a socket of the host");
		r = r > 0 ? KODA_OK : r;
	}
	return r;
}

int koda_plan_view(struct koda_plan *plan, const struct koda_plan_request *request,
		   struct koda_error *err)
{
	struct planner p = { .plan = plan,
			     .request = request,
			     .mounted = KODA_SET_INIT(KODA_LIST_BYTES_MAX),
			     .shut = { KODA_SET_INIT(KODA_LIST_BYTES_MAX),
				       KODA_SET_INIT(KODA_LIST_BYTES_MAX) },
			     .err = err };
	struct koda_verdict top = koda_rules_write(request->rules, "/", 1);
	int r = koda_plan_own(plan, request, err);

	/* There is no view in which everything can be written. */
	if (top.answer == KODA_ALLOW)
		return koda_fail_at(err, KODA_E_DENIED, 0, "fs.allow_write",
				    "/ cannot be writable as a whole; name what has to be");
	/* T-15. Nor one without anything: there would be nothing to mount on. */
	if (koda_rules_read(request->rules, "/", 1).answer == KODA_DENY)
		return koda_fail_at(err, KODA_E_DENIED, 0, "fs.deny_read",
				    "/ cannot be hidden as a whole; name what has to be");
	p.copy = (struct koda_copy){ plan, request, &p.mounted, err };
	if (r == KODA_OK)
		r = plan_root(&p);
	if (r == KODA_OK)
		r = plan_rules(&p);
	if (r == KODA_OK)
		r = plan_sockets(&p);
	if (r == KODA_OK)
		r = koda_plan_check_shut(&p.shut[STATE_READABLE], &p.mounted, err);
	if (r == KODA_OK)
		r = koda_plan_proc(plan, request, err);
	koda_set_clear(&p.mounted);
	koda_set_clear(&p.shut[STATE_HIDDEN]);
	koda_set_clear(&p.shut[STATE_READABLE]);
	return r;
}
