/* SPDX-License-Identifier: MIT */
/*
 * T-36. Rules -> Landlock, where no mount does the fine work. Landlock only grants, and what it
 * grants holds for everything below; so a tree in which something is denied is not granted. Of the
 * directories that lead to the denied thing (the rim) each entry is granted by itself, unless it
 * leads there too or is the thing. Reading and writing have a rim each.
 *
 *   edge   a path of the rules that exists, and whose answer differs from that above it
 *   rim    the directories above a denying edge, as far up as the answer is yes
 *   grant  every allowing edge that is no rim, and every allowed entry of a rim directory
 *
 * Nothing can be made in, removed from or renamed in a rim directory of writing: a right to do so
 * would hold for the denied thing below it as well. That keeps what is protected where it is
 * (T-11), and also its siblings from having company.
 */
#include "plan/plan.h"

#include "base/diag.h"
#include "base/path.h"
#include "base/set.h"
#include "plan/rights.h"
#include "policy/policy.h"
#include "policy/rules.h"

/* More rules than this make the start slow, and the kernel keeps them all. */
#define GRANTS_MAX 16384

#define RIGHTS_OF_FILE (RIGHT_EXECUTE | RIGHT_WRITE_FILE | RIGHT_READ_FILE | RIGHT_TRUNCATE)

struct edge {
	struct koda_span path; /* borrowed from candidates */
	struct koda_look look;
	bool allowed;
};

struct cutter {
	struct koda_plan *plan;
	const struct koda_plan_request *request;
	struct koda_set candidates; /* where an answer may change */
	struct koda_set shown;      /* of the host, though below a directory that is closed */
	struct koda_set sockets;    /* of the host: they must stay where they were found */
	size_t grants;
	struct koda_error *err;
};

/* One of the two questions, and what was found out about it. */
struct pass {
	struct cutter *c;
	bool (*may)(const struct cutter *c, struct koda_span path);
	uint64_t rights;
	struct koda_span above; /* borrowed from candidates: last asked about by may_above */
	bool above_allowed;
	struct edge *edges; /* owned */
	size_t count;
	struct koda_set rim;
	struct koda_set unlisted; /* a listing would be one of something hidden, too */
};

/* Devices, processes, temporary directories: the host's are not for the command, but for what is
 * the project's own in them. */
static bool is_closed(const struct cutter *c, struct koda_span path)
{
	if (!koda_plan_is_own(path))
		return false;
	for (struct koda_span up = path; up.len > 1 && koda_plan_is_own(up);
	     up = koda_plan_parent(up))
		if (koda_set_find(&c->shown, up) != KODA_SET_NONE)
			return false;
	return true;
}

static bool may_read(const struct cutter *c, struct koda_span path)
{
	return !is_closed(c, path) &&
	       koda_rules_read(c->request->rules, path.ptr, path.len).answer == KODA_ALLOW;
}

/* A cache that cannot be copied on write is the host's, and stays as it is. */
static bool is_granted(const struct cutter *c, struct koda_span path)
{
	struct koda_verdict v = koda_rules_write(c->request->rules, path.ptr, path.len);

	return v.answer == KODA_ALLOW && v.why != KODA_WHY_CACHE;
}

static bool may_write(const struct cutter *c, struct koda_span path)
{
	return is_granted(c, path) && koda_set_find(&c->sockets, path) == KODA_SET_NONE &&
	       may_read(c, path);
}

static int look_at(const struct cutter *c, struct koda_span path, struct koda_look *ret_look)
{
	const struct koda_world *world = c->request->world;

	return world->look(world->ctx, path.ptr, ret_look, c->err);
}

static int grant(struct cutter *c, struct koda_span path, const struct koda_look *look,
		 uint64_t rights)
{
	const struct koda_op op = { .kind = KODA_OP_LANDLOCK,
				    .flags = KODA_OP_EXACT,
				    .n1 = look->thing == KODA_THING_DIR ? rights
									: rights & RIGHTS_OF_FILE,
				    .n2 = look->ino,
				    .text1 = path };

	/* A link has no contents; what it leads to has a rule of its own. */
	if (look->thing == KODA_THING_MISSING || look->thing == KODA_THING_LINK)
		return KODA_OK;
	if (++c->grants > GRANTS_MAX)
		return koda_fail_at(c->err, KODA_E_LIMIT, 0, path.ptr,
				    "without namespaces this policy takes more than %d rules: "
				    "directories beside something protected or hidden are too full",
				    GRANTS_MAX);
	return koda_plan_add(c->plan, &op, NULL, c->err);
}

static int add_candidate(struct cutter *c, struct koda_span path, bool show)
{
	int r = koda_set_add(&c->candidates, path, NULL);

	if (r == KODA_OK && show && koda_plan_is_own(path) && !koda_plan_is_all_own(path))
		r = koda_set_add(&c->shown, path, NULL);
	return r < 0 ? koda_fail_room(c->err, r, "the list of rules") : KODA_OK;
}

/* Every path at which an answer may differ from the one above it. */
static int find_candidates(struct cutter *c)
{
	const struct koda_place *place = c->request->place;
	const struct koda_texts *marked = koda_rules_marked(c->request->rules);
	const char *const *dir = place->git_open;
	int r = add_candidate(c, koda_span_of("/"), false);

	for (size_t i = 0; koda_plan_own_dir(i) && r == KODA_OK; i++)
		r = add_candidate(c, koda_span_of(koda_plan_own_dir(i)), false);
	if (r == KODA_OK && place->root)
		r = add_candidate(c, koda_span_of(place->root), true);
	for (; dir && *dir && r == KODA_OK; dir++)
		r = add_candidate(c, koda_span_of(*dir), true);
	for (const char *const *s = c->request->sockets; s && *s && r == KODA_OK; s++) {
		r = add_candidate(c, koda_span_of(*s), false);
		if (r == KODA_OK && koda_set_add(&c->sockets, koda_span_of(*s), NULL) < 0)
			r = koda_fail_nomem(c->err);
	}
	for (size_t i = 0; i < marked->count && r == KODA_OK; i++) {
		struct koda_span path = koda_texts_get(marked, i);

		r = add_candidate(c, path, koda_plan_is_own(path) && is_granted(c, path));
	}
	return r;
}

/* The directories above, as far up as they are allowed. A right to list them would list a directory
 * among what is denied, too; what cannot be looked at may be one. */
static int add_rim(struct pass *pass, const struct edge *edge)
{
	const bool unlisted = edge->look.thing == KODA_THING_DIR || edge->look.closed;
	struct koda_span up = edge->path;
	int r = KODA_OK;

	while (up.len > 1 && r == KODA_OK) {
		up = koda_plan_parent(up);
		if (!pass->may(pass->c, up))
			break;
		r = koda_set_add(&pass->rim, up, NULL);
		if (r == KODA_OK && unlisted)
			r = koda_set_add(&pass->unlisted, up, NULL);
	}
	return r < 0 ? koda_fail_room(pass->c->err, r, "the list of directories") : KODA_OK;
}

/* May what is above path be? Rules come directory by directory, and mostly the one before asked. */
static bool may_above(struct pass *pass, struct koda_span path)
{
	struct koda_span above = koda_plan_parent(path);

	if (path.len <= 1)
		return false;
	if (!pass->above.ptr || above.len != pass->above.len ||
	    memcmp(above.ptr, pass->above.ptr, above.len) != 0) {
		pass->above = above;
		pass->above_allowed = pass->may(pass->c, above);
	}
	return pass->above_allowed;
}

static int find_edges(struct pass *pass)
{
	const struct cutter *c = pass->c;
	int r = KODA_OK;

	pass->edges = calloc(c->candidates.count, sizeof(*pass->edges));
	if (!pass->edges)
		return koda_fail_nomem(c->err);
	for (size_t i = 0; i < c->candidates.count && r == KODA_OK; i++) {
		struct edge edge = { .path = koda_set_get(&c->candidates, i) };

		edge.allowed = pass->may(c, edge.path);
		if (edge.allowed == may_above(pass, edge.path))
			continue;
		r = look_at(c, edge.path, &edge.look);
		if (r < 0 || (edge.look.thing == KODA_THING_MISSING && !edge.look.closed))
			continue;
		/* The closed directory's owner could open it; so it is granted to nobody. */
		if (!edge.look.closed)
			pass->edges[pass->count++] = edge;
		if (!edge.allowed)
			r = add_rim(pass, &edge);
	}
	return r;
}

/* The entries of a rim directory, each by itself. */
static int grant_entries(struct pass *pass, const char *dir)
{
	struct cutter *c = pass->c;
	const struct koda_world *world = c->request->world;
	koda_auto_strv struct koda_strv names = KODA_STRV_INIT;
	koda_auto_buf struct koda_buf path = KODA_BUF_INIT(SIZE_MAX / 2);
	size_t start;
	int r = world->list(world->ctx, dir, GRANTS_MAX, &names, c->err);

	if (r == KODA_OK && koda_buf_addf(&path, "%s/", dir[1] ? dir : "") < 0)
		return koda_fail_nomem(c->err);
	start = path.len;
	for (size_t i = 0; i < names.len && r == KODA_OK; i++) {
		struct koda_look look;

		path.len = start;
		if (koda_buf_add(&path, names.items[i], strlen(names.items[i])) < 0)
			return koda_fail_nomem(c->err);
		if (koda_set_find(&pass->rim, koda_buf_span(&path)) != KODA_SET_NONE ||
		    !pass->may(c, koda_buf_span(&path)))
			continue;
		r = look_at(c, koda_buf_span(&path), &look);
		if (r == KODA_OK)
			r = grant(c, koda_buf_span(&path), &look, pass->rights);
	}
	return r;
}

static int grant_rim(struct pass *pass)
{
	const bool reads = pass->rights == RIGHTS_READ;
	int r = KODA_OK;

	for (size_t i = 0; i < pass->rim.count && r == KODA_OK; i++) {
		struct koda_span dir = koda_set_get(&pass->rim, i);
		struct koda_look look;

		r = grant_entries(pass, dir.ptr);
		if (r < 0 || !reads || koda_set_find(&pass->unlisted, dir) != KODA_SET_NONE)
			continue;
		/* Everything hidden below is a file: names may be seen, contents not. */
		r = look_at(pass->c, dir, &look);
		if (r == KODA_OK)
			r = grant(pass->c, dir, &look, RIGHT_READ_DIR);
	}
	return r;
}

/* Before the command starts it tries to read what is hidden. */
static int add_canaries(const struct pass *pass)
{
	int r = KODA_OK;

	for (size_t i = 0; i < pass->count && r == KODA_OK; i++) {
		const struct edge *edge = &pass->edges[i];
		const struct koda_op op = { .kind = KODA_OP_DENIED_READ, .text1 = edge->path };

		if (!edge->allowed && edge->look.thing != KODA_THING_LINK &&
		    !koda_plan_is_own(edge->path))
			r = koda_plan_add(pass->c->plan, &op, NULL, pass->c->err);
	}
	return r;
}

static int run_pass(struct pass *pass)
{
	int r = find_edges(pass);

	for (size_t i = 0; i < pass->count && r == KODA_OK; i++)
		if (pass->edges[i].allowed &&
		    koda_set_find(&pass->rim, pass->edges[i].path) == KODA_SET_NONE)
			r = grant(pass->c, pass->edges[i].path, &pass->edges[i].look, pass->rights);
	if (r == KODA_OK)
		r = grant_rim(pass);
	if (r == KODA_OK && pass->rights == RIGHTS_READ)
		r = add_canaries(pass);
	free(pass->edges);
	koda_set_clear(&pass->rim);
	koda_set_clear(&pass->unlisted);
	return r;
}

int koda_plan_fragments(struct koda_plan *plan, const struct koda_plan_request *request,
			struct koda_error *err)
{
	struct cutter c = { .plan = plan,
			    .request = request,
			    .candidates = KODA_SET_INIT(KODA_LIST_BYTES_MAX),
			    .shown = KODA_SET_INIT(KODA_LIST_BYTES_MAX),
			    .sockets = KODA_SET_INIT(KODA_LIST_BYTES_MAX),
			    .err = err };
	struct pass reads = { .c = &c,
			      .may = may_read,
			      .rights = RIGHTS_READ,
			      .rim = KODA_SET_INIT(KODA_LIST_BYTES_MAX),
			      .unlisted = KODA_SET_INIT(KODA_LIST_BYTES_MAX) };
	struct pass writes = { .c = &c,
			       .may = may_write,
			       .rights = RIGHTS_TREE,
			       .rim = KODA_SET_INIT(KODA_LIST_BYTES_MAX),
			       .unlisted = KODA_SET_INIT(KODA_LIST_BYTES_MAX) };
	int r = find_candidates(&c);

	if (r == KODA_OK)
		r = run_pass(&reads);
	if (r == KODA_OK)
		r = run_pass(&writes);
	koda_set_clear(&c.candidates);
	koda_set_clear(&c.shown);
	koda_set_clear(&c.sockets);
	return r;
}
