/* SPDX-License-Identifier: MIT */
#include "run/survey.h"

#include "base/clock.h"
#include "base/path.h"
#include "plan/path_order.h"
#include "plan/private_dirs.h"
#include "policy/pathindex.h"
#include "policy/policy.h"
#include "policy/rules.h"
#include "run/project/ca_bundle.h"
#include "run/project/git_close.h"
#include "run/project/git_reach.h"
#include "run/project/git_scan.h"
#include "run/project/git_submodules.h"
#include "run/project/hardlink.h"
#include "run/project/host_sockets.h"
#include "run/project/mount_alias.h"
#include "run/project/policy_links.h"
#include "run/project/symlinks.h"
#include "run/project/worktree.h"

/* Lists what the policy lets a command write outside of the project. "/" is left out; the planner
 * refuses it. */
static int list_further(const struct koda_site *site, const struct koda_policy *policy,
			struct koda_pathindex *further, struct koda_error *err)
{
	int r = KODA_OK;

	for (size_t i = 0; i < koda_policy_count(policy, KODA_LIST_ALLOW_WRITE) && r == KODA_OK;
	     i++) {
		struct koda_span path = koda_policy_get(policy, KODA_LIST_ALLOW_WRITE, i);

		if (path.len > 1 && !koda_path_covers(koda_span_of(site->root), path) &&
		    !koda_plan_is_all_private(path))
			r = koda_pathindex_add(further, path, 1, err);
	}
	return r;
}

static bool is_below_another(const struct koda_pathindex *dirs, struct koda_span path)
{
	struct koda_pathwalk walk = koda_pathwalk_start(dirs, koda_plan_path_parent(path));

	return koda_pathwalk_next(&walk);
}

/* T-30. Finds repositories in the project and wherever else the policy lets a command write. An
 * allowed path may also lie in a work tree, so the directories above it are examined too. */
static int scan(struct koda_site *site, const struct koda_policy *policy,
		const struct koda_git_found *found, struct koda_error *err)
{
	koda_auto_pathindex struct koda_pathindex further = KODA_PATHINDEX_INIT;
	unsigned int depth = koda_policy_search_depth(policy);
	int r = koda_git_scan(site->root, depth, found, err);

	if (r == KODA_OK)
		r = list_further(site, policy, &further, err);
	for (size_t i = 0; i < further.texts.count && r == KODA_OK; i++) {
		struct koda_span path = koda_strlist_get(&further.texts, i);

		if (is_below_another(&further, path))
			continue;
		r = koda_site_note_git_above(site, path.ptr, err);
		if (r == KODA_OK)
			r = koda_git_scan(path.ptr, depth, found, err);
	}
	if (r == KODA_OK)
		r = koda_git_related_follow(found, err);
	return r < 0 ? r : koda_git_close_many(site, err);
}

int koda_survey_names(struct koda_site *site, const struct koda_policy *policy,
		      struct koda_error *err)
{
	int r = koda_worktree_note(site, policy, err);

	if (r == KODA_OK)
		r = koda_git_reach_note(site, policy, err);
	if (r == KODA_OK)
		r = koda_site_note_missing_dirs(site, err);
	if (r == KODA_OK)
		r = koda_symlinks_note(site, err);
	if (r == KODA_OK)
		r = koda_ca_bundle_note(site, policy, err);
	return r < 0 ? r : koda_hardlink_note(site, policy, err);
}

int koda_survey_rules(struct koda_site *site, const struct koda_policy *policy,
		      koda_rules_maker *make, struct koda_strv *sockets,
		      struct koda_rules **ret_rules, struct koda_error *err)
{
	struct koda_place place = koda_site_place(site);
	struct koda_rules *rules = NULL;
	bool found = false;
	int r = make(policy, &place, &rules, err);

	if (r == KODA_OK)
		r = koda_mount_alias_note(site, rules, sockets, &found, err);
	if (r == KODA_OK && !found) {
		*ret_rules = rules;
		return r;
	}
	koda_rules_free(rules);
	place = koda_site_place(site);
	return r < 0 ? r : make(policy, &place, ret_rules, err);
}

/* Returns what is left of the command's wall time. */
static uint64_t wall_left(const struct koda_sandbox *sandbox)
{
	uint64_t seconds = UINT32_MAX;
	uint64_t ns;

	(void)koda_policy_limit(sandbox->policy, KODA_LIMIT_WALL_TIME, &seconds);
	seconds += seconds == 0; /* a command without any time is started and killed */
	ns = (seconds < UINT32_MAX ? seconds : UINT32_MAX) * 1000000000ULL;
	return ns > sandbox->survey_ns ? ns - sandbox->survey_ns : 0;
}

/* Repositories come first, because missing names, links and hard links are looked for in them. */
int koda_survey_project(struct koda_site *site, const struct koda_policy *policy, uint64_t wall_ns,
			struct koda_error *err)
{
	const struct koda_git_found found = {
		.git_dirs = &site->git_dirs,
		.git_files = &site->git_files,
		.closed = &site->readonly_aliases,
		.shared = &site->has_hardlinks,
		.budget = &site->budget,
		.kept = koda_policy_count(policy, KODA_LIST_ALLOW_WRITE) ? &site->dirs : NULL
	};
	int r;

	koda_survey_budget_begin(&site->budget, wall_ns);
	r = scan(site, policy, &found, err);
	if (r == KODA_OK)
		r = koda_survey_names(site, policy, err);
	/* T-92. Work trees outside of the project are known by now. */
	if (r == KODA_OK && found.kept)
		r = koda_git_submodules_note(found.kept, found.budget, err);
	return r;
}

static int survey(struct koda_site *site, const struct koda_sandbox *sandbox,
		  struct koda_rules **ret_rules, struct koda_strv *sockets, bool *ret_unsure,
		  struct koda_error *err)
{
	const struct koda_host_sockets_bounds bounds = KODA_HOST_SOCKETS_BOUNDS;
	const struct koda_policy *policy = sandbox->policy;
	int r;

	site->unmounted = sandbox->backend->is_sandbox && !sandbox->backend->has_view;
	site->few_mounts = sandbox->backend->few_mounts;
	r = koda_survey_project(site, policy, wall_left(sandbox), err);
	/* T-17. Directories that are closed to us are hidden, because a command that runs at the
	 * same time could open them. With brokered connect() that is not needed. */
	if (r == KODA_OK)
		r = koda_host_sockets_find(site->root, &bounds, sockets,
					   site->unmounted ? NULL : &site->hidden, ret_unsure, err);
	if (r < 0)
		return r;
	return koda_survey_rules(site, policy, koda_rules_new_for_paths, sockets, ret_rules, err);
}

int koda_survey(struct koda_sandbox *sandbox, struct koda_error *err)
{
	int r = survey(&sandbox->site, sandbox, &sandbox->rules, &sandbox->sockets,
		       &sandbox->sockets_unsure, err);

	sandbox->surveyed_ns = koda_clock_now();
	sandbox->survey_ns = sandbox->surveyed_ns - sandbox->site.budget.began_ns;
	return r;
}

static int survey_again(struct koda_sandbox *sandbox, struct koda_error *err)
{
	koda_auto_strv struct koda_strv sockets = KODA_STRV_INIT;
	koda_auto_policy_links struct koda_policy_links resolved = { .differs = false };
	struct koda_site site = KODA_SITE_INIT;
	struct koda_rules *rules = NULL;
	int r = koda_site_load(&site, sandbox->site.root,
			       (const char *const *)sandbox->host_env.items, err);

	/* Links may lead elsewhere by now. Earlier targets of deny entries stay denied. */
	if (r == KODA_OK)
		r = koda_policy_links_resolve(&site, sandbox->policy, &resolved, err);
	if (r == KODA_OK && resolved.differs) {
		koda_net_rules_lock(&sandbox->net);
		koda_policy_links_apply(&resolved, sandbox->policy);
		koda_net_rules_unlock(&sandbox->net);
	}
	if (r == KODA_OK)
		r = survey(&site, sandbox, &rules, &sockets, &sandbox->sockets_unsure, err);
	if (site.budget.began_ns > 0)
		sandbox->survey_ns += koda_clock_now() - site.budget.began_ns;
	if (r < 0) {
		koda_site_clear(&site);
		return r;
	}
	/* Commands that still run hold a reference to the old rules. */
	koda_rules_free(sandbox->rules);
	sandbox->rules = rules;
	koda_site_clear(&sandbox->site);
	sandbox->site = site;
	koda_strv_clear(&sandbox->sockets);
	sandbox->sockets = sockets;
	sockets = (struct koda_strv)KODA_STRV_INIT;
	return KODA_OK;
}

int koda_survey_for_plan(struct koda_sandbox *sandbox, struct koda_error *err)
{
	/* The host may have taken its time between opening the sandbox and the first command. */
	bool stale =
		sandbox->surveyed || koda_clock_now() - sandbox->surveyed_ns > KODA_SITE_FRESH_NS;

	sandbox->surveyed = true;
	return stale ? survey_again(sandbox, err) : KODA_OK;
}

int koda_survey_ahead(struct koda_sandbox *sandbox, struct koda_error *err)
{
	int r = koda_survey_for_plan(sandbox, err);

	if (r < 0)
		return r;
	sandbox->surveyed = false;
	sandbox->surveyed_ns = koda_clock_now();
	return KODA_OK;
}
