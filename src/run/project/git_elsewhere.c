/* SPDX-License-Identifier: MIT */
/* T-92. Lists work trees whose git directory is elsewhere. */
#include "run/project/git_elsewhere.h"

#include "base/error.h"
#include "base/path.h"
#include "policy/policy.h"
#include "run/project/site.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* How a work tree lies to the directories that a command may write. */
enum lie {
	LIE_APART,
	LIE_WITHIN,
	LIE_AROUND,
};

static enum lie compare(struct koda_span dir, struct koda_span top)
{
	if (koda_path_covers(dir, top))
		return LIE_WITHIN;
	return koda_path_covers(top, dir) ? LIE_AROUND : LIE_APART;
}

static enum lie compare_all(const struct koda_site *site, const struct koda_policy *policy,
			    struct koda_span top)
{
	enum lie lie = compare(koda_span_of(site->root), top);

	for (size_t i = 0; i < koda_policy_count(policy, KODA_LIST_ALLOW_WRITE); i++) {
		enum lie other = compare(koda_policy_get(policy, KODA_LIST_ALLOW_WRITE, i), top);

		if (other == LIE_WITHIN || lie == LIE_APART)
			lie = other;
	}
	return lie;
}

static bool is_listed(const struct koda_dir_snapshot *snapshot, const char *top,
		      const char *git_dir)
{
	for (size_t i = 0; i < snapshot->tree_count; i++)
		if (strcmp(snapshot->trees[i].git_dir, git_dir) == 0 &&
		    strcmp(snapshot->trees[i].top, top) == 0)
			return true;
	return false;
}

/* Takes ownership of top, also on failure. */
static int add(struct koda_site *site, const struct koda_policy *policy, char *top,
	       const char *git_dir, struct koda_error *err)
{
	struct koda_dir_snapshot *snapshot = &site->dirs;
	struct koda_dir_snapshot_tree tree = { .top = top, .git_dir = strdup(git_dir) };
	koda_auto_free char *index = NULL;
	struct koda_dir_snapshot_tree *trees = NULL;
	int r = koda_path_join(git_dir, "index", &index, err);

	if (r == KODA_OK)
		r = koda_survey_budget_take_bytes(&site->budget, strlen(top) + strlen(git_dir),
						  git_dir, err);
	if (r == KODA_OK && tree.git_dir)
		trees = reallocarray(snapshot->trees, snapshot->tree_count + 1, sizeof(*trees));
	if (!trees) {
		free(tree.top);
		free(tree.git_dir);
		return r < 0 ? r : koda_fail_nomem(err);
	}
	tree.writable = koda_site_is_writable(site, policy, koda_span_of(index));
	snapshot->trees = trees;
	snapshot->trees[snapshot->tree_count++] = tree;
	return KODA_OK;
}

/* Tells whether the directory has a .git by which the scan has found it: git_dir, or a file. */
static bool has_dot_git(const char *dir, const char *git_dir)
{
	koda_auto_free char *dot_git = NULL;
	struct stat st;

	return koda_path_join(dir, ".git", &dot_git, NULL) == KODA_OK &&
	       (strcmp(dot_git, git_dir) == 0 || (lstat(dot_git, &st) == 0 && S_ISREG(st.st_mode)));
}

int koda_git_elsewhere_add(struct koda_site *site, const struct koda_policy *policy,
			   const char *top, const char *git_dir, struct koda_error *err)
{
	koda_auto_free char *spelt = NULL;
	koda_auto_free char *real = NULL;
	enum lie lie;
	int r;

	if (site->dirs.count == 0)
		return KODA_OK;
	/* Nearly all are submodules, for which this costs one system call. */
	r = koda_path_absolute(top, &spelt, NULL);
	if (r == KODA_OK && has_dot_git(spelt, git_dir) &&
	    compare_all(site, policy, koda_span_of(spelt)) == LIE_WITHIN)
		return KODA_OK;
	r = koda_path_resolve(top, &real, NULL);
	if (r < 0)
		return r == KODA_E_NOMEM ? koda_fail_nomem(err) : KODA_OK; /* no work tree */
	lie = compare_all(site, policy, koda_span_of(real));
	if (lie == LIE_APART || (lie == LIE_WITHIN && has_dot_git(real, git_dir)) ||
	    is_listed(&site->dirs, real, git_dir))
		return KODA_OK;
	return add(site, policy, KODA_TAKE(real), git_dir, err);
}

int koda_git_elsewhere_add_around(struct koda_site *site, const struct koda_policy *policy,
				  const char *git_dir, size_t len, struct koda_error *err)
{
	struct koda_span top = { git_dir, len };
	char *copy;

	if (site->dirs.count == 0 || compare_all(site, policy, top) != LIE_AROUND)
		return KODA_OK;
	copy = strndup(git_dir, len);
	if (!copy)
		return koda_fail_nomem(err);
	if (is_listed(&site->dirs, copy, git_dir)) {
		free(copy);
		return KODA_OK;
	}
	return add(site, policy, copy, git_dir, err);
}
