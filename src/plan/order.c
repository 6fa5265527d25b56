/* SPDX-License-Identifier: MIT */
/* In which order the paths of a rule set are planned. */
#include "plan/plan.h"

#include "base/diag.h"
#include "base/set.h"
#include "policy/policy.h"
#include "policy/rules.h"

struct koda_span koda_plan_parent(struct koda_span path)
{
	while (path.len > 1 && path.ptr[path.len - 1] != '/')
		path.len--;
	if (path.len > 1)
		path.len--;
	return path;
}

static int by_depth(const void *a, const void *b)
{
	const struct koda_marked *x = a;
	const struct koda_marked *y = b;

	if (x->depth != y->depth)
		return x->depth < y->depth ? -1 : 1;
	return strcmp(x->path.ptr, y->path.ptr);
}

static size_t depth_of(struct koda_span path)
{
	size_t depth = 0;

	for (size_t i = 0; i < path.len; i++)
		depth += path.ptr[i] == '/';
	return path.len > 1 ? depth : 0;
}

/* Which hidden entries have something readable below them? */
static int find_holes(const struct koda_rules *rules, struct koda_marked *entries, size_t count,
		      struct koda_error *err)
{
	koda_auto_set struct koda_set above = KODA_SET_INIT(KODA_LIST_BYTES_MAX);

	if (!koda_rules_have_holes(rules))
		return KODA_OK;
	for (size_t i = 0; i < count; i++) {
		struct koda_verdict v =
			koda_rules_read(rules, entries[i].path.ptr, entries[i].path.len);

		if (v.why != KODA_WHY_READ_HOLE)
			continue;
		for (struct koda_span up = koda_plan_parent(entries[i].path); up.len > 1;
		     up = koda_plan_parent(up))
			if (koda_set_add(&above, up, NULL) < 0)
				return koda_fail_nomem(err);
	}
	for (size_t i = 0; i < count; i++)
		entries[i].has_hole = koda_set_find(&above, entries[i].path) != KODA_SET_NONE;
	return KODA_OK;
}

/* Takes those out that have no part in the plan. */
static int drop_idle(const struct koda_rules *rules, struct koda_marked *list, size_t *count,
		     struct koda_error *err)
{
	koda_auto_free bool *idle = calloc(*count + 1, sizeof(*idle));
	size_t kept = 0;
	int r;

	if (!idle)
		return koda_fail_nomem(err);
	r = koda_rules_idle(rules, idle, err);
	for (size_t i = 0; i < *count && r == KODA_OK; i++)
		if (!idle[i])
			list[kept++] = list[i];
	*count = kept;
	return r;
}

int koda_plan_order(const struct koda_rules *rules, struct koda_marked **ret_list,
		    size_t *ret_count, struct koda_error *err)
{
	const struct koda_texts *marked = koda_rules_marked(rules);
	koda_auto_free struct koda_marked *list = calloc(marked->count + 1, sizeof(*list));
	size_t count = marked->count;
	int r;

	if (!list)
		return koda_fail_nomem(err);
	for (size_t i = 0; i < count; i++)
		list[i].path = koda_texts_get(marked, i);
	r = find_holes(rules, list, count, err);
	if (r == KODA_OK)
		r = drop_idle(rules, list, &count, err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < count; i++)
		list[i].depth = depth_of(list[i].path);
	qsort(list, count, sizeof(*list), by_depth);
	*ret_count = count;
	*ret_list = KODA_TAKE(list);
	return KODA_OK;
}
