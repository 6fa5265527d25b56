/* SPDX-License-Identifier: MIT */
/* Policy paths: from what is written to what is meant. */
#include "run/site.h"

#include "base/diag.h"
#include "base/path.h"
#include "policy/pathindex.h"
#include "policy/policy.h"

#include <errno.h>
#include <sys/stat.h>

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

/* The topmost directory on the way to path that is missing, "" if none is. */
static int find_missing(const char *path, char **ret_dir, struct koda_error *err)
{
	koda_auto_free char *dir = strdup(path);
	size_t found = 0;
	struct stat st;

	if (!dir)
		return koda_fail_nomem(err);
	for (size_t len = strlen(dir); len > 1 && lstat(dir, &st) < 0 && errno == ENOENT;) {
		found = len;
		while (len > 1 && dir[len - 1] != '/')
			len--;
		len -= len > 1;
		dir[len] = '\0';
	}
	memcpy(dir, path, found);
	dir[found] = '\0';
	*ret_dir = KODA_TAKE(dir);
	return KODA_OK;
}

/* Where a deny entry leads. Long lists of them name much that is not there, in places that are not
 * there either: below such a place there are no links, and the next ones need no look. */
static int resolve_deny(const char *path, char **missing, char **ret_resolved,
			struct koda_error *err)
{
	int r;

	if (*missing && **missing && koda_path_covers(koda_span_of(*missing), koda_span_of(path))) {
		*ret_resolved = strdup(path);
		return *ret_resolved ? KODA_OK : koda_fail_nomem(err);
	}
	r = koda_path_resolve(path, ret_resolved, err);
	if (r == KODA_OK && strcmp(*ret_resolved, path) == 0) {
		free(*missing);
		*missing = NULL;
		r = find_missing(path, missing, err);
	}
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

static int resolve_list(struct koda_policy *out, const struct koda_policy *policy,
			enum koda_list list, const struct koda_pathindex *writable,
			struct koda_error *err)
{
	bool allows = list == KODA_LIST_ALLOW_WRITE || list == KODA_LIST_ALLOW_READ_WITHIN_DENY;
	koda_auto_free char *missing = strdup("");
	size_t count = koda_policy_count(policy, list);
	int r = missing ? KODA_OK : koda_fail_nomem(err);

	for (size_t i = 0; i < count && r == KODA_OK; i++) {
		struct koda_span entry = koda_policy_get(policy, list, i);
		koda_auto_free char *resolved = NULL;

		if (allows)
			r = resolve_allow(writable, entry.ptr, &resolved, err);
		else
			r = resolve_deny(entry.ptr, &missing, &resolved, err);
		if (r == KODA_OK && !allows)
			r = koda_policy_add(out, list, entry.ptr, entry.len, err);
		if (r == KODA_OK && resolved)
			r = koda_policy_add(out, list, resolved, strlen(resolved), err);
	}
	return r;
}

int koda_site_resolve_policy(const struct koda_site *site, struct koda_policy *policy,
			     struct koda_error *err)
{
	koda_auto_pathindex struct koda_pathindex writable = KODA_PATHINDEX_INIT;
	koda_auto_policy struct koda_policy *out = NULL;
	int r = load_writable(site, policy, &writable, err);

	if (r == KODA_OK)
		r = koda_policy_copy(policy, &out, err);
	for (int list = KODA_LIST_DENY_READ; list <= KODA_LIST_DENY_WRITE_WITHIN_ALLOW; list++) {
		if (r == KODA_OK) {
			koda_set_clear(&out->lists[list]);
			r = resolve_list(out, policy, (enum koda_list)list, &writable, err);
		}
	}
	if (r < 0)
		return r;
	for (int list = KODA_LIST_DENY_READ; list <= KODA_LIST_DENY_WRITE_WITHIN_ALLOW; list++) {
		struct koda_set swap = policy->lists[list];

		policy->lists[list] = out->lists[list];
		out->lists[list] = swap;
	}
	return KODA_OK;
}
