/* SPDX-License-Identifier: MIT */
#include "run/project.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/path.h"
#include "base/sized.h"
#include "policy/credentials.h"
#include "policy/policy.h"
#include "run/project/policy_links.h"
#include "run/survey.h"

int koda_project_load(struct koda_project *project, const char *root, const char *const *host_env,
		      struct koda_error *err)
{
	int r = koda_site_load(&project->site, root, host_env, err);

	for (const char *const *env = host_env; env && *env && r == KODA_OK; env++)
		r = koda_strv_add(&project->host_env, *env, err);
	if (r == KODA_OK && !(project->root = strdup(project->site.root)))
		r = koda_fail_nomem(err);
	return r;
}

void koda_project_clear(struct koda_project *project)
{
	koda_site_clear(&project->site);
	koda_strv_clear(&project->host_env);
	free(KODA_TAKE(project->root));
	koda_seatbelt_cache_clear(&project->profiles);
	koda_policy_free(KODA_TAKE(project->policy));
}

static int reload_site(struct koda_project *project, struct koda_error *err)
{
	koda_site_clear(&project->site);
	project->site = (struct koda_site)KODA_SITE_INIT;
	project->site_used = false;
	return koda_site_load(&project->site, project->root,
			      (const char *const *)project->host_env.items, err);
}

/* Loads the site again if a sandbox has taken it. */
static int check_site(struct koda_project *project, struct koda_error *err)
{
	return project->site.root ? KODA_OK : reload_site(project, err);
}

/* Like koda_policy_links_resolve_now, for a policy whose links were resolved before. */
static int resolve_again(const struct koda_site *site, struct koda_policy *policy,
			 struct koda_error *err)
{
	koda_auto_policy_links struct koda_policy_links resolved = { .differs = false };
	int r = koda_policy_links_resolve(site, policy, &resolved, err);

	if (r == KODA_OK && resolved.differs)
		koda_policy_links_apply(&resolved, policy);
	return r;
}

int koda_project_take(struct koda_project *project, struct koda_site *ret_site,
		      struct koda_policy **ret_policy, struct koda_error *err)
{
	koda_auto_policy struct koda_policy *copy = NULL;
	bool stale = !project->site.root || project->site_used ||
		     koda_clock_now() - project->site.loaded_ns > KODA_SITE_FRESH_NS;
	int r = stale ? reload_site(project, err) : KODA_OK;

	if (r == KODA_OK)
		r = koda_policy_copy(project->policy, &copy, err);
	if (r == KODA_OK && stale)
		r = resolve_again(&project->site, copy, err);
	if (r < 0)
		return r;
	*ret_site = project->site;
	*ret_policy = KODA_TAKE(copy);
	project->site = (struct koda_site)KODA_SITE_INIT;
	return KODA_OK;
}

int koda_project_open(const char *root, const char *const *host_env,
		      struct koda_project **ret_project, struct koda_error *err)
{
	struct koda_project *project = calloc(1, sizeof(*project));
	int r;

	if (!project)
		return koda_fail_nomem(err);
	r = koda_project_load(project, root, host_env, err);
	if (r < 0) {
		koda_project_close(project);
		return r;
	}
	*ret_project = project;
	return KODA_OK;
}

void koda_project_close(struct koda_project *project)
{
	if (!project)
		return;
	koda_project_clear(project);
	free(project);
}

const char *koda_project_root(const struct koda_project *project)
{
	return project->root;
}

int koda_project_place(struct koda_project *project, struct koda_place *ret_place,
		       struct koda_error *err)
{
	struct koda_place place;
	int r = koda_sized_check(ret_place, sizeof(*ret_place), "koda_place", err);

	if (r == KODA_OK)
		r = check_site(project, err);
	if (r < 0)
		return r;
	place = koda_site_place(&project->site);
	koda_sized_give(ret_place, &place, sizeof(place));
	return KODA_OK;
}

const struct koda_policy *koda_project_policy(const struct koda_project *project)
{
	return project->policy;
}

static int check_policy(struct koda_project *project, struct koda_error *err)
{
	int r = check_site(project, err);

	return r < 0 || project->policy
		       ? r
		       : koda_fail(err, KODA_E_INVALID, 0, "the project has no policy yet");
}

static void replace_policy(struct koda_project *project, struct koda_policy *policy)
{
	koda_policy_free(project->policy);
	project->policy = policy;
}

int koda_project_adopt_policy(struct koda_project *project, struct koda_policy *policy,
			      struct koda_error *err)
{
	int r = koda_policy_links_resolve_now(&project->site, policy, err);

	if (r < 0)
		koda_policy_free(policy);
	else
		replace_policy(project, policy);
	return r;
}

int koda_project_set_policy(struct koda_project *project, const struct koda_policy *policy,
			    struct koda_error *err)
{
	struct koda_policy *copy = NULL;
	int r = check_site(project, err);

	if (r == KODA_OK)
		r = koda_policy_copy(policy, &copy, err);
	return r < 0 ? r : koda_project_adopt_policy(project, copy, err);
}

/* child's paths are resolved already. */
static int compose(struct koda_project *project, const struct koda_policy *child,
		   struct koda_error *err)
{
	struct koda_policy *both = NULL;
	int r = koda_policy_compose(project->policy, child, &both, err);

	if (r == KODA_OK)
		replace_policy(project, both);
	return r;
}

int koda_project_narrow(struct koda_project *project, const struct koda_policy *child,
			struct koda_error *err)
{
	koda_auto_policy struct koda_policy *copy = NULL;
	int r = check_policy(project, err);

	if (r == KODA_OK)
		r = koda_policy_copy(child, &copy, err);
	if (r == KODA_OK)
		r = koda_policy_links_resolve_now(&project->site, copy, err);
	return r < 0 ? r : compose(project, copy, err);
}

/* Denies the path as it is spelt, the target of that spelling, and what the kernel finds: past a
 * symbolic link ".." leads elsewhere than the spelling says, and the caller may mean either. */
static int deny_path(struct koda_policy *policy, enum koda_list list, const char *path,
		     struct koda_error *err)
{
	koda_auto_free char *absolute = NULL;
	koda_auto_free char *target = NULL;
	koda_auto_free char *resolved = NULL;
	int r;

	if (!path[0])
		return koda_fail(err, KODA_E_INVALID, 0, "must not be empty");
	r = koda_path_absolute(path, &absolute, err);
	if (r == KODA_OK)
		r = koda_path_resolve(absolute, &target, err);
	if (r == KODA_OK)
		r = koda_path_resolve(path, &resolved, err);
	if (r == KODA_OK)
		r = koda_policy_links_check_seen(target, NULL, err);
	if (r == KODA_OK)
		r = koda_policy_links_check_seen(resolved, NULL, err);
	if (r == KODA_OK)
		r = koda_policy_add(policy, list, absolute, strlen(absolute), err);
	if (r == KODA_OK)
		r = koda_policy_add(policy, list, target, strlen(target), err);
	if (r == KODA_OK)
		r = koda_policy_add(policy, list, resolved, strlen(resolved), err);
	return r;
}

int koda_project_deny(struct koda_project *project, enum koda_list list, const char *entry,
		      struct koda_error *err)
{
	int r = check_policy(project, err);

	if (r < 0)
		return r;
	switch (list) {
	case KODA_LIST_DENY_READ:
	case KODA_LIST_DENY_WRITE_WITHIN_ALLOW:
		return deny_path(project->policy, list, entry, err);
	case KODA_LIST_DENIED_DOMAINS:
		return koda_policy_add(project->policy, list, entry, strlen(entry), err);
	case KODA_LIST_ALLOW_READ_WITHIN_DENY:
	case KODA_LIST_ALLOW_WRITE:
	case KODA_LIST_ALLOWED_DOMAINS:
	case KODA_LIST_COUNT:
		break;
	}
	return koda_fail(err, KODA_E_INVALID, 0, "list %u denies nothing", (unsigned int)list);
}

/* T-97. Some programs look below HOME, others below the home that /etc/passwd names. */
int koda_project_hide_credentials(struct koda_project *project, struct koda_error *err)
{
	koda_auto_policy struct koda_policy *child = NULL;
	const struct koda_site *site = &project->site;
	int r = check_policy(project, err);

	if (r == KODA_OK && !site->home && !site->passwd_home)
		r = koda_fail(err, KODA_E_INVALID, 0, "there is no home directory: set HOME");
	if (r == KODA_OK)
		r = koda_policy_new(&child, err);
	if (r == KODA_OK)
		r = koda_credentials_hide(child, site->home, site->config_home, err);
	if (r == KODA_OK)
		r = koda_credentials_hide(child, site->passwd_home, NULL, err);
	if (r == KODA_OK)
		r = koda_policy_links_resolve_now(site, child, err);
	return r < 0 ? r : compose(project, child, err);
}

int koda_project_locate(struct koda_project *project, const char *path, char **ret_absolute,
			char **ret_resolved, struct koda_error *err)
{
	int r = check_site(project, err);

	project->site_used = true;
	return r < 0 ? r : koda_site_see(&project->site, path, ret_absolute, ret_resolved, err);
}

int koda_project_rules(struct koda_project *project, struct koda_rules **ret_rules,
		       struct koda_error *err)
{
	int r = check_policy(project, err);

	project->site_used = true;
	if (r == KODA_OK)
		r = koda_survey_names(&project->site, project->policy, err);
	return r < 0 ? r
		     : koda_survey_rules(&project->site, project->policy, koda_rules_new, NULL,
					 ret_rules, err);
}
