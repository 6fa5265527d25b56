/* SPDX-License-Identifier: MIT */
/*
 * T-36. Turns rules into Landlock rules, without a mount view. Landlock only grants, and a grant
 * holds for everything below; so a tree that contains a denied path is not granted. Instead every
 * entry of the directories above the denied path (the rim) is granted by itself, except the denied
 * path and rim directories. Reading and writing have a rim each.
 *
 *   edge   an existing path of the rules whose verdict differs from its parent's; also a hidden
 *          path that does not exist, unless its parent is writable (T-15)
 *   rim    the directories above a denied edge, up to the first denied one
 *   grant  every allowed edge outside the rim, and every allowed entry of a rim directory
 *
 * No entry can be created, removed or renamed in a rim directory of writing: such a right would
 * hold for the denied path below it as well. So a protected path cannot be moved (T-11), but its
 * directory gets no new entries either.
 */
#include "plan/landlock_grants.h"

#include "base/error.h"
#include "base/path.h"
#include "base/set.h"
#include "plan/landlock_rights.h"
#include "plan/path_order.h"
#include "plan/private_dirs.h"
#include "policy/policy.h"
#include "policy/rules.h"

#include <unistd.h>

/* More rules than this make the start slow, and the kernel keeps them all. */
#define GRANTS_MAX 16384

#define RIGHTS_OF_FILE (RIGHT_EXECUTE | RIGHT_WRITE_FILE | RIGHT_READ_FILE | RIGHT_TRUNCATE)

struct edge {
	struct koda_span path; /* borrowed from candidates */
	struct koda_fs_stat look;
	bool allowed;
};

struct granter {
	struct koda_plan *plan;
	const struct koda_plan_request *request;
	struct koda_set candidates; /* paths at which a verdict may change */
	struct koda_set shown;      /* paths of the project below a private directory */
	struct koda_set sockets;    /* of the host: they must not be renamed */
	size_t grants;
	struct koda_error *err;
};

/* Reading or writing, and its edges and rim. */
struct pass {
	struct granter *c;
	bool (*may)(const struct granter *c, struct koda_span path);
	uint64_t rights;
	struct koda_span above; /* borrowed from candidates: last argument of may_above */
	bool above_allowed;
	struct edge *edges; /* owned */
	size_t count;
	struct koda_set rim;
	struct koda_set unlisted; /* READ_DIR would reveal names in a hidden directory below */
};

/* Returns true for a path below /dev, /proc or a temporary directory that is no part of the
 * project.
 */
static bool is_private(const struct granter *c, struct koda_span path)
{
	if (!koda_plan_is_private(path))
		return false;
	for (struct koda_span up = path; up.len > 1 && koda_plan_is_private(up);
	     up = koda_plan_path_parent(up))
		if (koda_set_find(&c->shown, up) != KODA_SET_NONE)
			return false;
	return true;
}

static bool may_read(const struct granter *c, struct koda_span path)
{
	return !is_private(c, path) &&
	       koda_rules_read(c->request->rules, path.ptr, path.len).answer == KODA_ALLOW;
}

/* Without mounts a cache cannot be copied on write, so it is not writable. */
static bool is_granted(const struct granter *c, struct koda_span path)
{
	struct koda_verdict v = koda_rules_write(c->request->rules, path.ptr, path.len);

	return v.answer == KODA_ALLOW && v.reason != KODA_REASON_CACHE;
}

static bool may_write(const struct granter *c, struct koda_span path)
{
	return is_granted(c, path) && koda_set_find(&c->sockets, path) == KODA_SET_NONE &&
	       may_read(c, path);
}

static int look_at(const struct granter *c, struct koda_span path, struct koda_fs_stat *ret_look)
{
	const struct koda_fs_ops *fs = c->request->fs;

	return fs->look(fs->ctx, path.ptr, ret_look, c->err);
}

static int grant(struct granter *c, struct koda_span path, const struct koda_fs_stat *look,
		 uint64_t rights)
{
	const struct koda_op op = { .kind = KODA_OP_LANDLOCK,
				    .flags = KODA_OP_EXACT,
				    .n1 = look->type == KODA_FILE_DIR ? rights
								      : rights & RIGHTS_OF_FILE,
				    .n2 = look->ino,
				    .text1 = path };

	/* The target of a symbolic link has a rule of its own. */
	if (look->type == KODA_FILE_MISSING || look->type == KODA_FILE_LINK)
		return KODA_OK;
	if (++c->grants > GRANTS_MAX)
		return koda_fail_at(c->err, KODA_E_LIMIT, 0, path.ptr,
				    "without namespaces this policy takes more than %d rules: "
				    "directories beside something protected or hidden are too full",
				    GRANTS_MAX);
	return koda_plan_add(c->plan, &op, NULL, c->err);
}

static int add_candidate(struct granter *c, struct koda_span path, bool show)
{
	int r = koda_set_add(&c->candidates, path, NULL);

	if (r == KODA_OK && show && koda_plan_is_private(path) && !koda_plan_is_all_private(path))
		r = koda_set_add(&c->shown, path, NULL);
	return r < 0 ? koda_fail_room(c->err, r, "the list of rules") : KODA_OK;
}

/* Collects every path at which a verdict may differ from that of its parent. */
static int find_candidates(struct granter *c)
{
	const struct koda_place *place = c->request->place;
	const struct koda_strlist *marked = koda_rules_marked(c->request->rules);
	const char *const *dir = place->own_git_dirs;
	int r = add_candidate(c, koda_span_of("/"), false);

	for (size_t i = 0; koda_plan_private_dir(i) && r == KODA_OK; i++)
		r = add_candidate(c, koda_span_of(koda_plan_private_dir(i)), false);
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
		struct koda_span path = koda_strlist_get(marked, i);

		r = add_candidate(c, path, koda_plan_is_private(path) && is_granted(c, path));
	}
	return r;
}

/* Returns true for a directory of koda itself. Its names are no secret, and a missing one must not
 * keep the home directory from being listed. */
static bool is_own_state(const struct pass *pass, const struct edge *edge)
{
	return koda_rules_read(pass->c->request->rules, edge->path.ptr, edge->path.len).reason ==
	       KODA_REASON_OWN_STATE;
}

/* Adds the directories above an edge to the rim, up to the first denied one. READ_DIR on them would
 * also list a denied directory; a path that cannot be examined may be one, or become one. */
static int add_rim(struct pass *pass, const struct edge *edge)
{
	const bool unlisted = edge->look.type == KODA_FILE_DIR || edge->look.closed ||
			      (edge->look.type == KODA_FILE_MISSING && !is_own_state(pass, edge));
	struct koda_span up = edge->path;
	int r = KODA_OK;

	while (up.len > 1 && r == KODA_OK) {
		up = koda_plan_path_parent(up);
		if (!pass->may(pass->c, up))
			break;
		r = koda_set_add(&pass->rim, up, NULL);
		if (r == KODA_OK && unlisted)
			r = koda_set_add(&pass->unlisted, up, NULL);
	}
	return r < 0 ? koda_fail_room(pass->c->err, r, "the list of directories") : KODA_OK;
}

/* Returns the verdict on the parent of path. Neighbours in the list mostly share it. */
static bool may_above(struct pass *pass, struct koda_span path)
{
	struct koda_span above = koda_plan_path_parent(path);

	if (path.len <= 1)
		return false;
	if (!pass->above.ptr || above.len != pass->above.len ||
	    memcmp(above.ptr, pass->above.ptr, above.len) != 0) {
		pass->above = above;
		pass->above_allowed = pass->may(pass->c, above);
	}
	return pass->above_allowed;
}

/* T-15. Returns true if the edge is a hidden path that the host may create while the command runs.
 * Kernel files are not created. In a directory where the command may write, the clause
 * missing_names covers it. Nothing can be created below a file or a symbolic link. */
static int may_be_made(const struct pass *pass, const struct edge *edge, bool *ret_may)
{
	const struct granter *c = pass->c;
	struct koda_verdict read =
		koda_rules_read(c->request->rules, edge->path.ptr, edge->path.len);
	struct koda_fs_stat look = edge->look;
	koda_auto_free char *up = strdup(edge->path.ptr);
	int r = KODA_OK;

	if (!up)
		return koda_fail_nomem(c->err);
	*ret_may = pass->rights == RIGHTS_READ && read.answer == KODA_DENY &&
		   read.reason != KODA_REASON_KERNEL_HIDDEN &&
		   !may_write(c, koda_plan_path_parent(edge->path));
	while (r == KODA_OK && *ret_may && look.type == KODA_FILE_MISSING && up[1]) {
		up[koda_plan_path_parent(koda_span_of(up)).len] = '\0';
		r = look_at(c, koda_span_of(up), &look);
	}
	*ret_may = *ret_may && look.type == KODA_FILE_DIR;
	return r;
}

/* Returns true for a hidden kernel file that the user may not read anyway: it needs no rim. */
static bool is_kept_by_kernel(const struct granter *c, struct koda_span path)
{
	const struct koda_fs_ops *fs = c->request->fs;

	return fs->may &&
	       koda_rules_read(c->request->rules, path.ptr, path.len).reason ==
		       KODA_REASON_KERNEL_HIDDEN &&
	       !fs->may(fs->ctx, path.ptr, R_OK);
}

static int find_edges(struct pass *pass)
{
	const struct granter *c = pass->c;
	int r = KODA_OK;

	pass->edges = calloc(c->candidates.count, sizeof(*pass->edges));
	if (!pass->edges)
		return koda_fail_nomem(c->err);
	for (size_t i = 0; i < c->candidates.count && r == KODA_OK; i++) {
		struct edge edge = { .path = koda_set_get(&c->candidates, i) };

		edge.allowed = pass->may(c, edge.path);
		if (edge.allowed == may_above(pass, edge.path) || is_kept_by_kernel(c, edge.path))
			continue;
		r = look_at(c, edge.path, &edge.look);
		if (r == KODA_OK && edge.look.type == KODA_FILE_MISSING && !edge.look.closed) {
			bool may = false;

			r = may_be_made(pass, &edge, &may);
			if (r == KODA_OK && may)
				r = add_rim(pass, &edge);
			continue;
		}
		if (r < 0)
			continue;
		/* The owner of the unreadable directory could chmod it, so nothing below is
		 * granted. */
		if (!edge.look.closed)
			pass->edges[pass->count++] = edge;
		if (!edge.allowed)
			r = add_rim(pass, &edge);
	}
	return r;
}

/* Grants the allowed entries of a rim directory, each by itself. */
static int grant_entries(struct pass *pass, const char *dir)
{
	struct granter *c = pass->c;
	const struct koda_fs_ops *fs = c->request->fs;
	koda_auto_strv struct koda_strv names = KODA_STRV_INIT;
	koda_auto_buf struct koda_buf path = KODA_BUF_INIT(SIZE_MAX / 2);
	size_t start;
	int r = fs->list(fs->ctx, dir, GRANTS_MAX, &names, c->err);

	if (r == KODA_OK && koda_buf_addf(&path, "%s/", dir[1] ? dir : "") < 0)
		return koda_fail_nomem(c->err);
	start = path.len;
	for (size_t i = 0; i < names.len && r == KODA_OK; i++) {
		struct koda_fs_stat look;

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
		struct koda_fs_stat look;

		r = grant_entries(pass, dir.ptr);
		if (r < 0 || !reads || koda_set_find(&pass->unlisted, dir) != KODA_SET_NONE)
			continue;
		/* Only files are hidden below: their names may be listed, their contents not. */
		r = look_at(pass->c, dir, &look);
		if (r == KODA_OK)
			r = grant(pass->c, dir, &look, RIGHT_READ_DIR);
	}
	return r;
}

/* Adds the self-check: opening a hidden path must fail. */
static int add_canaries(const struct pass *pass)
{
	int r = KODA_OK;

	for (size_t i = 0; i < pass->count && r == KODA_OK; i++) {
		const struct edge *edge = &pass->edges[i];
		const struct koda_op op = { .kind = KODA_OP_DENIED_READ, .text1 = edge->path };

		if (!edge->allowed && edge->look.type != KODA_FILE_LINK &&
		    !koda_plan_is_private(edge->path))
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

int koda_plan_landlock_grants(struct koda_plan *plan, const struct koda_plan_request *request,
			      struct koda_error *err)
{
	struct granter c = { .plan = plan,
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
