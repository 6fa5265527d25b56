/* SPDX-License-Identifier: MIT */
/*
 * What is known of a project when a command is planned: its repositories, links, hard links and the
 * host's sockets in it, and the rules that come of all that. People and programs change the project
 * between commands, so each command after the first is preceded by another look.
 */
#include "run/survey.h"

#include "policy/policy.h"
#include "policy/rules.h"
#include "run/authority.h"
#include "run/hardlink.h"
#include "run/socket.h"
#include "run/world.h"

/* Repositories first: what is missing, a link, or has another name is looked for in them, too. */
static int look(struct koda_site *site, const struct koda_policy *policy,
		struct koda_rules **ret_rules, struct koda_strv *sockets, bool *ret_unsure,
		struct koda_error *err)
{
	const struct koda_socket_bounds bounds = KODA_SOCKET_BOUNDS;
	struct koda_place place;
	const struct koda_found found = { .git_dirs = &site->git_dirs,
					  .git_files = &site->git_files,
					  .closed = &site->guarded,
					  .shared = &site->shared };
	int r = koda_world_scan(site->root, koda_policy_search_depth(policy), &found, err);

	if (r == KODA_OK)
		r = koda_site_note_absent(site, err);
	if (r == KODA_OK)
		r = koda_site_note_aliases(site, err);
	if (r == KODA_OK)
		r = koda_site_note_authority(site, policy, err);
	if (r == KODA_OK)
		r = koda_site_note_hardlinks(site, policy, err);
	if (r == KODA_OK)
		r = koda_socket_find(site->root, &bounds, sockets, ret_unsure, err);
	if (r < 0)
		return r;
	place = koda_site_place(site);
	return koda_rules_new_for_paths(policy, &place, ret_rules, err);
}

int koda_survey(struct koda_sandbox *sandbox, struct koda_error *err)
{
	return look(&sandbox->site, sandbox->policy, &sandbox->rules, &sandbox->sockets,
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
		r = look(&site, sandbox->policy, &rules, &sockets, &sandbox->sockets_unsure, err);
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
