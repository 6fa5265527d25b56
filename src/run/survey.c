/* SPDX-License-Identifier: MIT */
/*
 * What is known of a project when a command is planned: its repositories, links, hard links and the
 * host's sockets in it, and the rules that come of all that. People and programs change the project
 * between commands, so each command after the first is preceded by another look.
 */
#include "run/survey.h"

#include "base/path.h"
#include "plan/plan.h"
#include "policy/pathindex.h"
#include "policy/policy.h"
#include "policy/rules.h"
#include "run/authority.h"
#include "run/hardlink.h"
#include "run/socket.h"
#include "run/twin.h"
#include "run/world.h"

/* What the policy lets a command write outside of the project, on the host. All there is cannot be
 * written, which is told when it is planned. */
static int list_further(const struct koda_site *site, const struct koda_policy *policy,
			struct koda_pathindex *further, struct koda_error *err)
{
	int r = KODA_OK;

	for (size_t i = 0; i < koda_policy_count(policy, KODA_LIST_ALLOW_WRITE) && r == KODA_OK;
	     i++) {
		struct koda_span path = koda_policy_get(policy, KODA_LIST_ALLOW_WRITE, i);

		if (path.len > 1 && !koda_path_covers(koda_span_of(site->root), path) &&
		    !koda_plan_is_all_own(path))
			r = koda_pathindex_add(further, path, 1, err);
	}
	return r;
}

static bool is_below_another(const struct koda_pathindex *dirs, struct koda_span path)
{
	struct koda_pathwalk walk = koda_pathwalk_start(dirs, koda_plan_parent(path));

	return koda_pathwalk_next(&walk);
}

/* T-30. In the project, and wherever else the policy lets a command write; there a git directory
 * may also be above what it names. */
static int scan(struct koda_site *site, const struct koda_policy *policy,
		const struct koda_found *found, struct koda_error *err)
{
	koda_auto_pathindex struct koda_pathindex further = KODA_PATHINDEX_INIT;
	unsigned int depth = koda_policy_search_depth(policy);
	int r = koda_world_scan(site->root, depth, found, err);

	if (r == KODA_OK)
		r = list_further(site, policy, &further, err);
	for (size_t i = 0; i < further.texts.count && r == KODA_OK; i++) {
		struct koda_span path = koda_texts_get(&further.texts, i);

		if (is_below_another(&further, path))
			continue;
		r = koda_site_note_git_above(site, path.ptr, err);
		if (r == KODA_OK)
			r = koda_world_scan(path.ptr, depth, found, err);
	}
	return r;
}

int koda_survey_names(struct koda_site *site, const struct koda_policy *policy,
		      struct koda_error *err)
{
	int r = koda_site_note_absent(site, err);

	if (r == KODA_OK)
		r = koda_site_note_aliases(site, err);
	if (r == KODA_OK)
		r = koda_site_note_authority(site, policy, err);
	return r < 0 ? r : koda_site_note_hardlinks(site, policy, err);
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
		r = koda_site_note_twins(site, rules, sockets, &found, err);
	if (r == KODA_OK && !found) {
		*ret_rules = rules;
		return r;
	}
	koda_rules_free(rules);
	place = koda_site_place(site);
	return r < 0 ? r : make(policy, &place, ret_rules, err);
}

/* Repositories first: what is missing, a link, or has another name is looked for in them, too. */
static int look(struct koda_site *site, const struct koda_sandbox *sandbox,
		struct koda_rules **ret_rules, struct koda_strv *sockets, bool *ret_unsure,
		struct koda_error *err)
{
	const struct koda_policy *policy = sandbox->policy;
	const struct koda_socket_bounds bounds = KODA_SOCKET_BOUNDS;
	const struct koda_found found = { .git_dirs = &site->git_dirs,
					  .git_files = &site->git_files,
					  .closed = &site->guarded,
					  .shared = &site->shared };
	int r = scan(site, policy, &found, err);

	if (r == KODA_OK)
		r = koda_survey_names(site, policy, err);
	/* T-17. A command that runs beside this one could open what is closed. Where init makes
	 * every connection that does not matter. */
	if (r == KODA_OK)
		r = koda_socket_find(site->root, &bounds, sockets,
				     sandbox->backend == &koda_backend_landlock ? NULL
										: &site->hidden,
				     ret_unsure, err);
	if (r < 0)
		return r;
	return koda_survey_rules(site, policy, koda_rules_new_for_paths, sockets, ret_rules, err);
}

int koda_survey(struct koda_sandbox *sandbox, struct koda_error *err)
{
	return look(&sandbox->site, sandbox, &sandbox->rules, &sandbox->sockets,
		    &sandbox->sockets_unsure, err);
}

static int look_again(struct koda_sandbox *sandbox, struct koda_error *err)
{
	koda_auto_strv struct koda_strv sockets = KODA_STRV_INIT;
	koda_auto_resolved struct koda_resolved resolved = { .differs = false };
	struct koda_site site = KODA_SITE_INIT;
	struct koda_rules *rules = NULL;
	int r = koda_site_load(&site, sandbox->site.root,
			       (const char *const *)sandbox->host_env.items, err);

	/* Where its links lead by now; where denied ones led before stays denied. */
	if (r == KODA_OK)
		r = koda_site_resolve(&site, sandbox->policy, &resolved, err);
	if (r == KODA_OK && resolved.differs) {
		koda_way_hold(&sandbox->way);
		koda_resolved_apply(&resolved, sandbox->policy);
		koda_way_release(&sandbox->way);
	}
	if (r == KODA_OK)
		r = look(&site, sandbox, &rules, &sockets, &sandbox->sockets_unsure, err);
	if (r < 0) {
		koda_site_clear(&site);
		return r;
	}
	/* Commands that still run have their own share of the rules. */
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
	bool stale = sandbox->surveyed;

	sandbox->surveyed = true;
	return stale ? look_again(sandbox, err) : KODA_OK;
}
