/* SPDX-License-Identifier: MIT */
/* T-01: these tables hold whatever a policy says. */
#include "policy/floor.h"

#include "base/diag.h"

const char *const koda_floor_home_dirs[] = {
	".ssh",         ".aws",    ".gnupg",   ".kube", ".azure", ".password-store",
	".terraform.d", ".claude", ".android", NULL
};

const char *const koda_floor_home_files[] = { ".netrc",
					      ".git-credentials",
					      ".npmrc",
					      ".pypirc",
					      ".docker/config.json",
					      ".vault-token",
					      ".env",
					      NULL };

const char *const koda_floor_config_dirs[] = { "gcloud",  "gh",     "op",  "helm",
					       "netlify", "vercel", "fly", "doppler",
					       "stripe",  "heroku", NULL };

const char *const koda_floor_hidden_config[] = { "koda/db", NULL };

/* What a host tool runs or trusts the next time someone opens the project. */
const char *const koda_floor_project_names[] = { ".koda/agents",
						 ".koda/skills",
						 ".mcp.json",
						 ".vscode",
						 ".idea",
						 ".cursor",
						 ".codex",
						 ".claude/agents",
						 ".claude/commands",
						 ".claude/settings.json",
						 ".claude/settings.local.json",
						 ".envrc",
						 NULL };

/* A git directory is the project's, a nested repository's, a submodule's (modules/NAME) or a
 * worktree's (worktrees/NAME); each may hold any of these. */
const char *const koda_floor_git_names[] = { "hooks",     "config", "config.worktree",
					     "commondir", "gitdir", "info/attributes",
					     NULL };

const char *const koda_floor_git_configs[] = { "config", "config.worktree", NULL };

const char *const koda_floor_kernel_paths[] = { "/sys",       "/proc/sys",  "/proc/sysrq-trigger",
						"/proc/irq",  "/proc/bus",  "/proc/fs",
						"/proc/acpi", "/proc/scsi", NULL };

const char *const koda_floor_cache_dirs[] = { ".cargo/registry", ".cargo/git", ".npm/_cacache",
					      ".cache", NULL };

static bool is_listed(const char *const *list, const char *name)
{
	for (; *list; list++)
		if (strcmp(*list, name) == 0)
			return true;
	return false;
}

/* Puts dir into path, in normal form. */
static int begin(struct koda_buf *path, const char *dir, struct koda_error *err)
{
	/* An empty dir would join to a path below "/". */
	if (dir[0] != '/')
		return koda_fail_at(err, KODA_E_POLICY, 0, dir, "the path is not absolute");
	path->len = 0;
	return koda_path_normalise(koda_span_of(dir), path, err);
}

/* Marks name below the directory in path, which stays; name is spelt as paths are. */
static int mark_below(struct koda_pathindex *index, struct koda_buf *path, const char *name,
		      uint32_t bits, struct koda_error *err)
{
	size_t len = path->len;
	int r = len > 1 ? koda_buf_add(path, "/", 1) : KODA_OK;

	if (r == KODA_OK)
		r = koda_buf_add(path, name, strlen(name));
	if (r < 0)
		return koda_fail_room(err, r, "the path");
	r = koda_pathindex_add(index, koda_buf_span(path), bits, err);
	path->len = len;
	return r;
}

static int mark_all(struct koda_pathindex *index, const char *dir, const char *const *names,
		    enum koda_why why, struct koda_error *err)
{
	koda_auto_buf struct koda_buf path = KODA_BUF_INIT(2 * KODA_PATH_MAX);
	int r = dir ? begin(&path, dir, err) : KODA_OK;

	for (; dir && *names && r == KODA_OK; names++)
		r = mark_below(index, &path, *names, 1U << why, err);
	return r;
}

static int mark_each(struct koda_pathindex *index, const char *const *dirs, enum koda_why why,
		     struct koda_error *err)
{
	koda_auto_buf struct koda_buf path = KODA_BUF_INIT(2 * KODA_PATH_MAX);
	int r = KODA_OK;

	for (; dirs && *dirs && r == KODA_OK; dirs++) {
		r = begin(&path, *dirs, err);
		if (r == KODA_OK)
			r = koda_pathindex_add(index, koda_buf_span(&path), 1U << why, err);
	}
	return r;
}

static int mark_git_dir(struct koda_pathindex *index, const char *dir, bool allow_git_config,
			struct koda_error *err)
{
	koda_auto_buf struct koda_buf path = KODA_BUF_INIT(2 * KODA_PATH_MAX);
	int r = begin(&path, dir, err);

	for (const char *const *name = koda_floor_git_names; *name && r == KODA_OK; name++)
		if (!allow_git_config || !is_listed(koda_floor_git_configs, *name))
			r = mark_below(index, &path, *name, 1U << KODA_WHY_GIT, err);
	if (r == KODA_OK)
		r = koda_pathindex_add(index, koda_buf_span(&path), KODA_FLOOR_GATE, err);
	if (r == KODA_OK)
		r = mark_below(index, &path, "modules", KODA_FLOOR_FENCE, err);
	return r;
}

static int mark_project(struct koda_pathindex *index, const struct koda_place *place,
			bool allow_git_config, struct koda_error *err)
{
	koda_auto_buf struct koda_buf git = KODA_BUF_INIT(2 * KODA_PATH_MAX);
	int r = mark_all(index, place->root, koda_floor_project_names, KODA_WHY_PROJECT_NAME, err);

	if (r == KODA_OK && place->root) {
		r = koda_buf_addf(&git, "%s/.git", place->root);
		if (r < 0)
			return koda_fail_room(err, r, "the path");
		r = mark_git_dir(index, git.ptr, allow_git_config, err);
	}
	for (const char *const *dir = place->git_dirs; dir && *dir && r == KODA_OK; dir++)
		r = mark_git_dir(index, *dir, allow_git_config, err);
	if (r == KODA_OK)
		r = mark_each(index, place->git_files, KODA_WHY_GIT, err);
	if (r == KODA_OK)
		r = mark_each(index, place->absent, KODA_WHY_PROJECT_NAME, err);
	return r;
}

/* Credentials and our state below one configuration directory. */
static int mark_config(struct koda_pathindex *index, const char *config_home,
		       struct koda_error *err)
{
	int r = mark_all(index, config_home, koda_floor_config_dirs, KODA_WHY_CREDENTIALS, err);

	if (r == KODA_OK)
		r = mark_all(index, config_home, koda_floor_hidden_config, KODA_WHY_OWN_STATE, err);
	return r;
}

static int mark_home(struct koda_pathindex *index, const struct koda_place *place,
		     struct koda_error *err)
{
	static const char *const state[] = { "koda", NULL };
	static const char *const default_state[] = { ".local/state/koda", NULL };
	koda_auto_buf struct koda_buf config = KODA_BUF_INIT(2 * KODA_PATH_MAX);
	int r = mark_all(index, place->home, koda_floor_home_dirs, KODA_WHY_CREDENTIALS, err);

	if (r == KODA_OK)
		r = mark_all(index, place->home, koda_floor_home_files, KODA_WHY_CREDENTIALS, err);
	/* The default places stay protected when XDG variables point elsewhere: what was stored
	 * there before they did is still there. */
	if (r == KODA_OK && place->home) {
		r = koda_buf_addf(&config, "%s/.config", place->home);
		if (r < 0)
			return koda_fail_room(err, r, "the path");
		r = mark_config(index, config.ptr, err);
	}
	if (r == KODA_OK)
		r = mark_config(index, place->config_home, err);
	if (r == KODA_OK)
		r = mark_all(index, place->home, default_state, KODA_WHY_OWN_STATE, err);
	if (r == KODA_OK)
		r = mark_all(index, place->state_home, state, KODA_WHY_OWN_STATE, err);
	if (r == KODA_OK)
		r = mark_all(index, place->runtime_dir, state, KODA_WHY_OWN_STATE, err);
	return r;
}

int koda_floor_add(struct koda_pathindex *index, const struct koda_place *place,
		   bool allow_git_config, struct koda_error *err)
{
	int r = mark_home(index, place, err);

	if (r == KODA_OK)
		r = mark_project(index, place, allow_git_config, err);
	if (r == KODA_OK)
		r = mark_each(index, place->guarded, KODA_WHY_OTHER_NAME, err);
	if (r == KODA_OK)
		r = mark_each(index, place->hidden, KODA_WHY_HIDDEN_NAME, err);
	if (r == KODA_OK)
		r = mark_each(index, place->exec_dirs, KODA_WHY_EXEC_DIR, err);
	if (r == KODA_OK)
		r = mark_each(index, koda_floor_kernel_paths, KODA_WHY_KERNEL, err);
	return r;
}

int koda_floor_open(struct koda_pathindex *index, const char *const *dirs, struct koda_error *err)
{
	return mark_each(index, dirs, KODA_WHY_GIT_DIR, err);
}

int koda_floor_add_caches(struct koda_pathindex *index, const struct koda_place *place,
			  struct koda_error *err)
{
	return mark_each(index, place->caches, KODA_WHY_CACHE, err);
}
