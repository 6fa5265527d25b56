/* SPDX-License-Identifier: MIT */
/* Policy paths: from what is written to what is meant. */
#include "run/site.h"

#include "base/diag.h"
#include "base/path.h"
#include "policy/pathindex.h"
#include "policy/policy.h"
#include "run/gap.h"

/* Where the command may write or could have written: the project, its git directory, and what the
 * policy allows, as the kernel will see it. */
static int load_writable(const struct koda_site *site, const struct koda_policy *policy,
			 struct koda_pathindex *writable, struct koda_error *err)
{
	size_t count = koda_policy_count(policy, KODA_LIST_ALLOW_WRITE);
	int r = koda_pathindex_add(writable, koda_span_of(site->root), 1, err);

	for (size_t i = 0; i < site->git_open.len && r == KODA_OK; i++)
		r = koda_pathindex_add(writable, koda_span_of(site->git_open.items[i]), 1, err);
	for (size_t i = 0; i < count && r == KODA_OK; i++) {
		koda_auto_free char *resolved = NULL;

		r = koda_path_resolve(koda_policy_get(policy, KODA_LIST_ALLOW_WRITE, i).ptr,
				      &resolved, err);
		if (r == KODA_OK)
			r = koda_pathindex_add(writable, koda_span_of(resolved), 1, err);
	}
	return r;
}

static bool is_inside(const struct koda_pathindex *dirs, const char *path)
{
	struct koda_pathwalk walk = koda_pathwalk_start(dirs, koda_span_of(path));

	return koda_pathwalk_next(&walk);
}

/* Where a deny entry leads; NULL: where it says. */
static int resolve_deny(struct koda_gap *gap, struct koda_span path, char **ret_resolved,
			struct koda_error *err)
{
	koda_auto_free char *resolved = NULL;
	int r;

	if (koda_gap_covers(gap, path)) /* below it there are no links */
		return KODA_OK;
	r = koda_path_resolve(path.ptr, &resolved, err);
	if (r == KODA_OK && strcmp(resolved, path.ptr) == 0)
		return koda_gap_look(gap, path.ptr, err);
	*ret_resolved = KODA_TAKE(resolved);
	return r;
}

/* T-06 where an allow entry leads; NULL if a link on the way may have been planted. */
static int resolve_allow(const struct koda_pathindex *writable, const char *path,
			 char **ret_resolved, struct koda_error *err)
{
	koda_auto_strv struct koda_strv links = KODA_STRV_INIT;
	koda_auto_free char *resolved = NULL;
	int r = koda_path_trace(path, &resolved, &links, err);

	for (size_t i = 0; i < links.len && r == KODA_OK; i++)
		if (is_inside(writable, links.items[i]))
			return KODA_OK;
	if (r == KODA_OK)
		*ret_resolved = KODA_TAKE(resolved);
	return r;
}

/* A list that becomes another one. Most do not: there are no links in it. */
struct change {
	const struct koda_set *before;
	struct koda_set after; /* once something differs, what the entries so far have become */
	bool differs;
	struct koda_buf normal;
};

#define CHANGE_INIT(list)                                                                          \
	{                                                                                          \
		.before = (list), .after = KODA_SET_INIT(KODA_LIST_BYTES_MAX),                     \
		.normal = KODA_BUF_INIT(KODA_PATH_MAX)                                             \
	}

static void change_clear(struct change *change)
{
	koda_set_clear(&change->after);
	koda_buf_clear(&change->normal);
}

/* From entry i on it is not the list that it was. */
static int differ(struct change *change, size_t i, struct koda_error *err)
{
	int r = KODA_OK;

	for (size_t k = 0; k < i && !change->differs && r == KODA_OK; k++)
		r = koda_set_add(&change->after, koda_set_get(change->before, k), NULL);
	change->differs = true;
	return r < 0 ? koda_fail_room(err, r, "the list") : KODA_OK;
}

/* Entry i stays; nothing is done about it before one does not. */
static int keep(struct change *change, size_t i, struct koda_error *err)
{
	int r = change->differs
			? koda_set_add(&change->after, koda_set_get(change->before, i), NULL)
			: KODA_OK;

	return r < 0 ? koda_fail_room(err, r, "the list") : KODA_OK;
}

static int add(struct change *change, const char *path, struct koda_error *err)
{
	int r;

	change->normal.len = 0;
	r = koda_path_normalise(koda_span_of(path), &change->normal, err);
	if (r < 0)
		return r;
	r = koda_set_add(&change->after, koda_buf_span(&change->normal), NULL);
	return r < 0 ? koda_fail_room(err, r, "the list") : KODA_OK;
}

/* What is denied stays so as it is spelt, and where it leads. */
static int resolve_denies(struct change *change, struct koda_error *err)
{
	koda_auto_gap struct koda_gap gap = KODA_GAP_INIT;
	int r = KODA_OK;

	for (size_t i = 0; i < change->before->count && r == KODA_OK; i++) {
		koda_auto_free char *resolved = NULL;

		r = resolve_deny(&gap, koda_set_get(change->before, i), &resolved, err);
		if (r == KODA_OK && resolved)
			r = differ(change, i, err);
		if (r == KODA_OK)
			r = keep(change, i, err);
		if (r == KODA_OK && resolved)
			r = add(change, resolved, err);
	}
	return r;
}

/* What is allowed is so where it leads, and only there. */
static int resolve_allows(struct change *change, const struct koda_pathindex *writable,
			  struct koda_error *err)
{
	int r = KODA_OK;

	for (size_t i = 0; i < change->before->count && r == KODA_OK; i++) {
		const char *entry = koda_set_get(change->before, i).ptr;
		koda_auto_free char *resolved = NULL;

		r = resolve_allow(writable, entry, &resolved, err);
		if (r == KODA_OK && resolved && strcmp(resolved, entry) == 0) {
			r = keep(change, i, err);
			continue;
		}
		if (r == KODA_OK)
			r = differ(change, i, err);
		if (r == KODA_OK && resolved)
			r = add(change, resolved, err);
	}
	return r;
}

static void swap(struct koda_set *a, struct koda_set *b)
{
	struct koda_set kept = *a;

	*a = *b;
	*b = kept;
}

int koda_site_resolve(const struct koda_site *site, const struct koda_policy *policy,
		      struct koda_resolved *ret_resolved, struct koda_error *err)
{
	struct koda_resolved resolved = { .differs = false };
	koda_auto_pathindex struct koda_pathindex writable = KODA_PATHINDEX_INIT;
	int r = load_writable(site, policy, &writable, err);

	for (size_t i = 0; i < KODA_ARRAY_LEN(resolved.lists) && r == KODA_OK; i++) {
		struct change change = CHANGE_INIT(&policy->lists[i]);

		r = i == KODA_LIST_ALLOW_WRITE || i == KODA_LIST_ALLOW_READ_WITHIN_DENY
			    ? resolve_allows(&change, &writable, err)
			    : resolve_denies(&change, err);
		resolved.is_other[i] = change.differs;
		resolved.differs |= change.differs;
		swap(&resolved.lists[i], &change.after);
		change_clear(&change);
	}
	if (r < 0)
		koda_resolved_clear(&resolved);
	else
		*ret_resolved = resolved;
	return r;
}

void koda_resolved_apply(struct koda_resolved *resolved, struct koda_policy *policy)
{
	for (size_t i = 0; i < KODA_ARRAY_LEN(resolved->lists); i++)
		if (resolved->is_other[i])
			swap(&policy->lists[i], &resolved->lists[i]);
}

void koda_resolved_clear(struct koda_resolved *resolved)
{
	for (size_t i = 0; i < KODA_ARRAY_LEN(resolved->lists); i++)
		koda_set_clear(&resolved->lists[i]);
	*resolved = (struct koda_resolved){ .differs = false };
}

/* All lists, or none. */
int koda_site_resolve_policy(const struct koda_site *site, struct koda_policy *policy,
			     struct koda_error *err)
{
	koda_auto_resolved struct koda_resolved resolved = { .differs = false };
	int r = koda_site_resolve(site, policy, &resolved, err);

	if (r == KODA_OK)
		koda_resolved_apply(&resolved, policy);
	return r;
}
