/* SPDX-License-Identifier: MIT */
#include "plan/path_order.h"

#include "base/error.h"
#include "base/set.h"
#include "policy/policy.h"
#include "policy/rules.h"

struct koda_span koda_plan_path_parent(struct koda_span path)
{
	while (path.len > 1 && path.ptr[path.len - 1] != '/')
		path.len--;
	if (path.len > 1)
		path.len--;
	return path;
}

size_t koda_plan_path_depth(struct koda_span path)
{
	size_t depth = 0;

	for (size_t i = 0; i < path.len; i++)
		depth += path.ptr[i] == '/';
	return path.len > 1 ? depth : 0;
}

int koda_plan_path_compare(struct koda_span a, size_t depth_a, struct koda_span b, size_t depth_b)
{
	if (depth_a != depth_b)
		return depth_a < depth_b ? -1 : 1;
	return strcmp(a.ptr, b.ptr);
}

static int compare(const void *a, const void *b)
{
	const struct koda_path_mark *x = a;
	const struct koda_path_mark *y = b;

	return koda_plan_path_compare(x->path, x->depth, y->path, y->depth);
}

/* Collects every directory above a hole. */
static int find_holes(const struct koda_rules *rules, struct koda_set *above,
		      struct koda_error *err)
{
	const struct koda_strlist *marked = koda_rules_marked(rules);
	size_t count = koda_rules_have_holes(rules) ? marked->count : 0;

	for (size_t i = 0; i < count; i++) {
		struct koda_span path = koda_strlist_get(marked, i);
		struct koda_verdict v = koda_rules_read(rules, path.ptr, path.len);

		if (v.reason != KODA_REASON_READ_HOLE)
			continue;
		for (struct koda_span up = koda_plan_path_parent(path); up.len > 1;
		     up = koda_plan_path_parent(up))
			if (koda_set_add(above, up, NULL) < 0)
				return koda_fail_nomem(err);
	}
	return KODA_OK;
}

/* Lists the paths that change a verdict; of many rules mostly few. */
static int list_busy(const struct koda_rules *rules, const struct koda_set *above,
		     struct koda_path_mark **ret_list, size_t *ret_count, struct koda_error *err)
{
	const struct koda_strlist *marked = koda_rules_marked(rules);
	koda_auto_free bool *idle = calloc(marked->count + 1, sizeof(*idle));
	struct koda_path_mark *list;
	size_t count = 0;
	int r;

	if (!idle)
		return koda_fail_nomem(err);
	r = koda_rules_idle(rules, idle, err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < marked->count; i++)
		count += !idle[i];
	list = calloc(count + 1, sizeof(*list));
	if (!list)
		return koda_fail_nomem(err);
	count = 0;
	for (size_t i = 0; i < marked->count; i++) {
		struct koda_span path = koda_strlist_get(marked, i);

		if (!idle[i])
			list[count++] = (struct koda_path_mark){
				.path = path,
				.depth = koda_plan_path_depth(path),
				.has_hole = koda_set_find(above, path) != KODA_SET_NONE,
			};
	}
	*ret_count = count;
	*ret_list = list;
	return KODA_OK;
}

int koda_plan_path_order(const struct koda_rules *rules, struct koda_path_mark **ret_list,
			 size_t *ret_count, struct koda_error *err)
{
	koda_auto_set struct koda_set above = KODA_SET_INIT(KODA_LIST_BYTES_MAX);
	int r = find_holes(rules, &above, err);

	if (r == KODA_OK)
		r = list_busy(rules, &above, ret_list, ret_count, err);
	if (r == KODA_OK)
		qsort(*ret_list, *ret_count, sizeof(**ret_list), compare);
	return r;
}
