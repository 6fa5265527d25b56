/* SPDX-License-Identifier: MIT */
/* T-44. Hooks and configuration are protected at their usual paths. Settings can move them:
 * core.hooksPath, include.path, core.attributesFile, programs such as core.fsmonitor, a hook that
 * is a link. If a command may write the other path, that is protected too, existing or not. */
#include "run/project/git_reach.h"

#include "base/error.h"
#include "base/path.h"
#include "policy/floor.h"
#include "run/project/git_close.h"
#include "run/project/git_command.h"
#include "run/project/git_elsewhere.h"
#include "run/project/git_file.h"
#include "run/project/git_settings.h"
#include "run/project/git_trail.h"
#include "run/project/site.h"
#include "run/project/worktree.h"

#include <sys/stat.h>

/* How many files all configurations together may include. */
#define INCLUDES_MAX ((size_t)1024)
#define WORKTREES    "/worktrees/"

struct reach {
	struct koda_site *site;
	struct koda_git_reader reader;
	struct koda_git_trail trail;
	struct koda_git_settings own; /* of the user */
	struct koda_strv linked;      /* git directories of worktrees */
};

/* Notes what the settings name, for the work tree at top. */
static int apply(struct reach *reach, const struct koda_git_settings *settings, const char *top,
		 struct koda_error *err)
{
	const struct koda_set *const paths[] = { &settings->hooks, &settings->files };
	int r = KODA_OK;

	for (size_t i = 0; i < KODA_ARRAY_LEN(paths); i++) {
		for (size_t j = 0; j < paths[i]->count && r == KODA_OK; j++) {
			koda_auto_free char *path = NULL;

			r = koda_git_settings_path(koda_set_get(paths[i], j).ptr, top,
						   reach->reader.home, &path, err);
			if (r == KODA_OK && path)
				r = i == 0 ? koda_git_trail_hooks(&reach->trail, path, err)
					   : koda_git_trail_follow(&reach->trail, path, err);
		}
	}
	for (size_t i = 0; i < settings->commands.count && r == KODA_OK; i++)
		r = koda_git_command_note(&reach->trail, koda_set_get(&settings->commands, i).ptr,
					  top, err);
	return r;
}

/* Notes included files, and those of the user. A repository's own files are protected by the rules.
 * */
static int note_sources(struct reach *reach, const struct koda_git_settings *settings, size_t from,
			struct koda_error *err)
{
	int r = KODA_OK;

	for (size_t i = from; i < settings->sources.count && r == KODA_OK; i++) {
		const char *file = koda_set_get(&settings->sources, i).ptr;

		r = settings->linked ? koda_git_trail_follow(&reach->trail, file, err)
				     : koda_git_trail_note(&reach->trail, file, err);
	}
	return r;
}

/* Notes what the settings of the user and of a repository name, for the work tree at top. */
static int apply_both(struct reach *reach, const struct koda_git_settings *settings,
		      const char *top, struct koda_error *err)
{
	int r;

	reach->trail.left = KODA_GIT_TRAIL_NAMES;
	r = apply(reach, settings, top, err);
	return r < 0 ? r : apply(reach, &reach->own, top, err);
}

static int apply_to_worktrees(struct reach *reach, const struct koda_git_settings *settings,
			      const char *git_dir, struct koda_error *err)
{
	const struct koda_strv *dirs = &reach->linked;
	size_t len = strlen(git_dir);
	int r = koda_survey_budget_take_entries(&reach->site->budget, dirs->len / 64, git_dir, err);

	for (size_t i = 0; i < dirs->len && r == KODA_OK; i++) {
		koda_auto_free char *top = NULL;

		if (strncmp(dirs->items[i], git_dir, len) != 0 ||
		    strncmp(dirs->items[i] + len, WORKTREES, strlen(WORKTREES)) != 0)
			continue;
		r = koda_survey_budget_take_entries(&reach->site->budget, 1, git_dir, err);
		if (r == KODA_OK)
			r = koda_worktree_linked(dirs->items[i], &top, err);
		if (r == KODA_OK && top)
			r = apply_both(reach, settings, top, err);
	}
	return r;
}

/* Applies settings to the work tree of a git directory, or to the directory itself, and to its
 * core.worktree. */
static int apply_to_tops(struct reach *reach, const struct koda_git_settings *settings,
			 const char *git_dir, struct koda_error *err)
{
	size_t len = koda_worktree_top_len(git_dir);
	koda_auto_free char *top = strndup(git_dir, len ? len : strlen(git_dir));
	koda_auto_free char *linked = NULL;
	koda_auto_free char *named = NULL;
	int r = top ? apply_both(reach, settings, top, err) : koda_fail_nomem(err);

	if (r == KODA_OK && settings->worktree)
		r = koda_git_settings_path(settings->worktree, git_dir, NULL, &named, err);
	if (r == KODA_OK && named)
		r = apply_both(reach, settings, named, err);
	if (r == KODA_OK && len == 0)
		r = koda_worktree_linked(git_dir, &linked, err);
	if (r == KODA_OK && linked)
		r = apply_both(reach, settings, linked, err);
	return r < 0 ? r : apply_to_worktrees(reach, settings, git_dir, err);
}

/* Notes the work tree of a git directory, if it is not found by its .git in the project. */
static int note_tree(struct reach *reach, const struct koda_git_settings *settings,
		     const char *git_dir, struct koda_error *err)
{
	const struct koda_policy *policy = reach->trail.policy;
	size_t len = koda_worktree_top_len(git_dir);
	koda_auto_free char *top = NULL;
	int r = KODA_OK;

	if (reach->site->dirs.count == 0)
		return KODA_OK;
	if (settings->worktree)
		r = koda_git_settings_path(settings->worktree, git_dir, NULL, &top, err);
	else if (len > 0)
		return koda_git_elsewhere_add_around(reach->site, policy, git_dir, len, err);
	else if (strstr(git_dir, WORKTREES))
		r = koda_worktree_linked(git_dir, &top, err);
	return r < 0 || !top ? r : koda_git_elsewhere_add(reach->site, policy, top, git_dir, err);
}

/* looks: KODA_SITE_GIT_* bits, if it was examined before. */
static int note_repository(struct reach *reach, const char *git_dir, unsigned int looks,
			   struct koda_error *err)
{
	koda_auto_git_settings struct koda_git_settings settings = KODA_GIT_SETTINGS_INIT;
	koda_auto_free char *hooks = NULL;
	int r = koda_path_join(git_dir, "hooks", &hooks, err);

	reach->trail.source = git_dir;
	reach->trail.left = KODA_GIT_TRAIL_NAMES;
	for (const char *const *name = koda_floor_git_configs; *name && r == KODA_OK; name++) {
		koda_auto_free char *file = NULL;
		size_t from = settings.sources.count;

		if (name > koda_floor_git_configs && looks & KODA_SITE_GIT_ONE_CONFIG)
			break;
		r = koda_path_join(git_dir, *name, &file, err);
		if (r < 0)
			return r;
		from += koda_set_find(&settings.sources, koda_span_of(file)) == KODA_SET_NONE;
		r = koda_git_settings_read(&settings, file, &reach->reader, err);
		if (r == KODA_OK)
			r = note_sources(reach, &settings, from, err);
	}
	if (r == KODA_OK && !(looks & KODA_SITE_GIT_OWN_HOOKS))
		r = koda_git_trail_hook_links(&reach->trail, hooks, err);
	if (r == KODA_OK)
		r = note_tree(reach, &settings, git_dir, err);
	if (r < 0 ||
	    !(koda_git_settings_has_any(&settings) || koda_git_settings_has_any(&reach->own)))
		return r;
	return apply_to_tops(reach, &settings, git_dir, err);
}

/* Notes repositories above the root, whose settings may name files in it. */
static int note_around(struct reach *reach, struct koda_error *err)
{
	koda_auto_free char *dir = strdup(reach->site->root);
	int r = KODA_OK;

	if (!dir)
		return koda_fail_nomem(err);
	while (r == KODA_OK && dir[1]) {
		koda_auto_strv struct koda_strv links = KODA_STRV_INIT;
		koda_auto_free char *dot_git = NULL;
		koda_auto_free char *git_dir = NULL;
		koda_auto_free char *common = NULL;
		struct stat st;

		dir[strrchr(dir, '/') > dir ? (size_t)(strrchr(dir, '/') - dir) : 1] = '\0';
		r = koda_path_join(dir, ".git", &dot_git, err);
		if (r < 0 || lstat(dot_git, &st) < 0)
			continue;
		r = koda_git_file_follow(dot_git, &git_dir, &links, err);
		if (r < 0 || !git_dir)
			continue;
		r = koda_git_file_common(git_dir, &common, &links, err);
		if (r == KODA_OK)
			r = note_repository(reach, common ? common : git_dir, 0, err);
		/* The path of the target tells nothing about the work tree. */
		if (r == KODA_OK && !S_ISDIR(st.st_mode))
			r = apply(reach, &reach->own, dir, err);
		if (r == KODA_OK && !S_ISDIR(st.st_mode))
			r = koda_git_elsewhere_add(reach->site, reach->trail.policy, dir, git_dir,
						   err);
	}
	return r;
}

/* looks: a byte of KODA_SITE_GIT_* for each, or NULL. */
static int note_repositories(struct reach *reach, const struct koda_strv *dirs, const char *looks,
			     struct koda_error *err)
{
	int r = KODA_OK;

	for (size_t i = 0; i < dirs->len && r == KODA_OK; i++) {
		r = koda_survey_budget_take_entries(&reach->site->budget, 1, dirs->items[i], err);
		if (r == KODA_OK)
			r = note_repository(reach, dirs->items[i],
					    looks ? (unsigned char)looks[i] : 0, err);
	}
	return r;
}

static int list_linked(struct reach *reach, const struct koda_strv *dirs, struct koda_error *err)
{
	int r = KODA_OK;

	for (size_t i = 0; i < dirs->len && r == KODA_OK; i++)
		if (strstr(dirs->items[i], WORKTREES))
			r = koda_strv_add(&reach->linked, dirs->items[i], err);
	return r;
}

int koda_git_reach_note(struct koda_site *site, const struct koda_policy *policy,
			struct koda_error *err)
{
	struct reach reach = { .site = site,
			       .reader = { site->home, policy,
					   INCLUDES_MAX + 2 * site->git_closed.len, &site->budget },
			       .trail = { .site = site,
					  .policy = policy,
					  .home = site->home,
					  .source = "git's configuration",
					  .added = KODA_SET_INIT((size_t)64 << 20),
					  .left = SIZE_MAX },
			       .own = KODA_GIT_SETTINGS_INIT };
	int r = list_linked(&reach, &site->git_dirs, err);

	if (r == KODA_OK)
		r = list_linked(&reach, &site->git_closed, err);
	if (r == KODA_OK)
		r = koda_git_settings_read_own(&reach.own, site->config_home, site->git_config,
					       &reach.reader, err);
	if (r == KODA_OK)
		r = note_sources(&reach, &reach.own, 0, err);
	if (r == KODA_OK)
		r = note_around(&reach, err);
	if (r == KODA_OK)
		r = note_repositories(&reach, &site->git_dirs, NULL, err);
	if (r == KODA_OK)
		r = note_repositories(&reach, &site->git_closed, site->git_looks.ptr, err);
	koda_git_settings_clear(&reach.own);
	koda_strv_clear(&reach.linked);
	koda_set_clear(&reach.trail.added);
	return r;
}
