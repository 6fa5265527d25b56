/* SPDX-License-Identifier: MIT */
/*
 * T-02. Two policies become one that grants what each of them grants, and no more. A
 * sub-agent whose policy is composed from its parent's can never do what the parent may not. Fields
 * that the parent leaves out count with their defaults; fields that the child leaves out do not
 * count.
 *
 *   denies                 union
 *   allow_read_within_deny a hole of one policy below a deny of the other is closed
 *   allow_write            intersection by containment
 *   allowed_domains        see compose_net.c
 *   flags                  and; search depth: maximum; limits: minimum of what is stated
 *   trust                  the strictest
 *   mitm                   the parent's: TLS termination is up to the host
 */
#include "policy/compose.h"

#include "base/error.h"
#include "policy/pathindex.h"
#include "policy/policy.h"

enum mark {
	MARK_PATH = 1 << 0, /* the list itself, or deny_read */
	MARK_HOLE = 1 << 1
};

static int index_list(struct koda_pathindex *index, const struct koda_set *list, uint32_t mark,
		      struct koda_error *err)
{
	int r = KODA_OK;

	for (size_t i = 0; i < list->count && r == KODA_OK; i++)
		r = koda_pathindex_add(index, koda_set_get(list, i), mark, err);
	return r;
}

static int index_reads(struct koda_pathindex *index, const struct koda_policy *policy,
		       struct koda_error *err)
{
	int r = index_list(index, &policy->lists[KODA_LIST_DENY_READ], MARK_PATH, err);

	if (r == KODA_OK)
		r = index_list(index, &policy->lists[KODA_LIST_ALLOW_READ_WITHIN_DENY], MARK_HOLE,
			       err);
	return r;
}

/* Returns true if this policy leaves path readable or lists path as a hole. A hole with the path of
 * a deny is kept: the deny is kept too, and a deny beats a hole of equal length. */
static bool tolerates_hole(const struct koda_pathindex *side, const struct koda_policy *policy,
			   struct koda_span path)
{
	struct koda_pathwalk walk = koda_pathwalk_start(side, path);
	bool readable = true;

	while (koda_pathwalk_next(&walk))
		readable = !(walk.marks & MARK_PATH);
	return readable || koda_set_find(&policy->lists[KODA_LIST_ALLOW_READ_WITHIN_DENY], path) !=
				   KODA_SET_NONE;
}

static int meet_holes(struct koda_policy *out, const struct koda_policy *a,
		      const struct koda_policy *b, struct koda_error *err)
{
	const enum koda_list holes = KODA_LIST_ALLOW_READ_WITHIN_DENY;
	koda_auto_pathindex struct koda_pathindex in_a = KODA_PATHINDEX_INIT;
	koda_auto_pathindex struct koda_pathindex in_b = KODA_PATHINDEX_INIT;
	const struct koda_policy *sides[] = { a, b };
	int r = index_reads(&in_a, a, err);

	if (r == KODA_OK)
		r = index_reads(&in_b, b, err);
	for (size_t s = 0; s < KODA_ARRAY_LEN(sides); s++) {
		for (size_t i = 0; i < sides[s]->lists[holes].count && r == KODA_OK; i++) {
			struct koda_span path = koda_set_get(&sides[s]->lists[holes], i);

			if (tolerates_hole(&in_a, a, path) && tolerates_hole(&in_b, b, path))
				r = koda_policy_add_canonical(out, holes, path, err);
		}
	}
	return r;
}

/* Adds the allow_write entries of from that lie at or below an entry of within. */
static int keep_inside(struct koda_policy *out, const struct koda_policy *from,
		       const struct koda_pathindex *within, struct koda_error *err)
{
	const struct koda_set *list = &from->lists[KODA_LIST_ALLOW_WRITE];
	int r = KODA_OK;

	for (size_t i = 0; i < list->count && r == KODA_OK; i++) {
		struct koda_span path = koda_set_get(list, i);
		struct koda_pathwalk walk = koda_pathwalk_start(within, path);

		if (koda_pathwalk_next(&walk))
			r = koda_policy_add_canonical(out, KODA_LIST_ALLOW_WRITE, path, err);
	}
	return r;
}

static int meet_writes(struct koda_policy *out, const struct koda_policy *a,
		       const struct koda_policy *b, struct koda_error *err)
{
	koda_auto_pathindex struct koda_pathindex in_a = KODA_PATHINDEX_INIT;
	koda_auto_pathindex struct koda_pathindex in_b = KODA_PATHINDEX_INIT;
	int r;

	if (!b->allow_write_stated) { /* b adds nothing: take the list of a, stated or not */
		koda_policy_state_allow_write(out, a->allow_write_stated);
		return koda_policy_add_union(out, KODA_LIST_ALLOW_WRITE, a, b, err);
	}
	koda_policy_state_allow_write(out, true);
	if (!a->allow_write_stated) /* nothing is writable, and a child cannot change that */
		return KODA_OK;
	r = index_list(&in_a, &a->lists[KODA_LIST_ALLOW_WRITE], MARK_PATH, err);
	if (r == KODA_OK)
		r = index_list(&in_b, &b->lists[KODA_LIST_ALLOW_WRITE], MARK_PATH, err);
	if (r == KODA_OK)
		r = keep_inside(out, a, &in_b, err);
	if (r == KODA_OK)
		r = keep_inside(out, b, &in_a, err);
	return r;
}

static struct koda_cap meet_caps(struct koda_cap a, struct koda_cap b)
{
	if (!a.stated || !b.stated)
		return a.stated ? a : b;
	return a.max < b.max ? a : b;
}

static void meet_scalars(struct koda_policy *out, const struct koda_policy *a,
			 const struct koda_policy *b)
{
	for (size_t i = 0; i < KODA_FLAG_COUNT; i++) {
		out->flags[i].on = a->flags[i].on && (b->flags[i].on || !b->flags[i].stated);
		out->flags[i].stated = a->flags[i].stated || b->flags[i].stated;
	}
	for (size_t i = 0; i < KODA_LIMIT_POLICY_COUNT; i++)
		out->limits[i] = meet_caps(a->limits[i], b->limits[i]);
	out->depth_stated = a->depth_stated || b->depth_stated;
	out->search_depth = a->search_depth;
	if (b->depth_stated && b->search_depth > a->search_depth)
		out->search_depth = b->search_depth;
	out->ask = a->ask < b->ask ? a->ask : b->ask;
}

int koda_policy_compose(const struct koda_policy *parent, const struct koda_policy *child,
			struct koda_policy **ret_policy, struct koda_error *err)
{
	koda_auto_policy struct koda_policy *out = NULL;
	int r = koda_policy_new(&out, err);

	if (r < 0)
		return r;
	meet_scalars(out, parent, child);
	r = koda_policy_add_union(out, KODA_LIST_DENY_READ, parent, child, err);
	if (r == KODA_OK)
		r = koda_policy_add_union(out, KODA_LIST_DENY_WRITE_WITHIN_ALLOW, parent, child,
					  err);
	if (r == KODA_OK)
		r = meet_holes(out, parent, child, err);
	if (r == KODA_OK)
		r = meet_writes(out, parent, child, err);
	if (r == KODA_OK)
		r = koda_compose_net(out, parent, child, err);
	if (r == KODA_OK)
		r = koda_policy_copy_mitm(out, parent, err);
	if (r < 0)
		return r;
	*ret_policy = KODA_TAKE(out);
	return KODA_OK;
}
