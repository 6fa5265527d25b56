/* SPDX-License-Identifier: MIT */
/* T-01: these tables hold for every policy. */
#include "policy/floor.h"

#include "base/error.h"

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

/* T-96: the policies of koda-sandbox. */
const char *const koda_floor_policy_dirs[] = { "koda/policies", NULL };

/* Files that a host tool runs, or takes permissions from, when a user opens the project next,
 * without asking or after the project was trusted once. Files that are only shown to a model are
 * not here. Nor is mise.toml: mise trusts a directory and an open set of names in it. Nor is
 * opencode.json: a placeholder of that name would get into patterns such as *.json. */
const char *const koda_floor_project_names[] = {
	".koda/agents",                /* koda: what an agent may do */
	".koda/skills",                /* koda: programs of a skill */
	".mcp.json",                   /* agents: servers that are started */
	".vscode",                     /* VS Code: tasks, programs of extensions */
	".idea",                       /* JetBrains: run configurations, start-up tasks */
	".cursor",                     /* Cursor: servers, hooks */
	".codex",                      /* Codex: servers, permissions */
	".claude/agents",              /* Claude Code: tools that an agent may use */
	".claude/commands",            /* Claude Code: programs that a command runs */
	".claude/hooks",               /* Claude Code: where hooks are kept */
	".claude/settings.json",       /* Claude Code: hooks, permissions */
	".claude/settings.local.json", /* Claude Code: hooks, permissions */
	".claude/skills",              /* Claude Code: programs and permissions of a skill */
	".devcontainer",               /* dev containers: initializeCommand runs on the host */
	".devcontainer.json",          /* dev containers: initializeCommand, as one file */
	".envrc",                      /* direnv: read by the shell */
	".gemini",                     /* Gemini CLI: servers, hooks, environment */
	".helix",                      /* Helix: programs of language servers */
	".kiro",                       /* Kiro: servers, hooks */
	".opencode",                   /* OpenCode: plugins, servers, permissions */
	".roo/mcp.json",               /* Roo Code: servers that are started */
	".amazonq",                    /* Amazon Q: servers, hooks and permissions of agents */
	".windsurf",                   /* Windsurf: hooks are shell commands */
	".zed",                        /* Zed: programs of language servers, tasks */
	NULL
};

/* Protected only if their directory exists: it is created by their own tools, or much else is kept
 * in it. */
const char *const koda_floor_inner_names[] = {
	".github/hooks",        /* Copilot CLI: hooks are shell commands */
	".github/lsp.json",     /* Copilot CLI: programs of language servers */
	".hg/hgrc",             /* Mercurial: hooks, extensions, programs */
	".hg/hgrc-not-shared",  /* Mercurial: hooks, extensions, programs */
	".hg/sharedpath",       /* Mercurial: leads to another repository with an hgrc */
	".sl/config",           /* Sapling: hooks, programs */
	".jj/repo/config.toml", /* Jujutsu: programs */
	NULL
};

/* A git directory is the project's, a nested repository's, a submodule's (modules/NAME) or a
 * worktree's (worktrees/NAME); each may hold any of these. */
const char *const koda_floor_git_names[] = { "hooks",     "config",   "config.worktree",
					     "commondir", "gitdir",   "info/attributes",
					     "remotes",   "branches", NULL };

const char *const koda_floor_git_modules = "modules";

const char *const koda_floor_git_configs[] = { "config", "config.worktree", NULL };

/* What git runs in a core.hooksPath directory that contains other files, too. */
const char *const koda_floor_hook_names[] = { "applypatch-msg",
					      "commit-msg",
					      "fsmonitor-watchman",
					      "p4-changelist",
					      "p4-post-changelist",
					      "p4-pre-submit",
					      "p4-prepare-changelist",
					      "post-applypatch",
					      "post-checkout",
					      "post-commit",
					      "post-index-change",
					      "post-merge",
					      "post-receive",
					      "post-rewrite",
					      "post-update",
					      "pre-applypatch",
					      "pre-auto-gc",
					      "pre-commit",
					      "pre-merge-commit",
					      "pre-push",
					      "pre-rebase",
					      "pre-receive",
					      "prepare-commit-msg",
					      "proc-receive",
					      "push-to-checkout",
					      "reference-transaction",
					      "sendemail-validate",
					      "update",
					      NULL };

/* The top of a work tree must not become a git directory itself: git takes it for one if .git is
 * none, or is made unreadable, and obeys the configuration in it. For that it needs a commondir
 * that leads to one, or all of these. HEAD comes last: where it exists, "git diff HEAD" is
 * ambiguous. */
const char *const koda_floor_worktree_link = "commondir";
const char *const koda_floor_worktree_parts[] = { "refs", "objects", "HEAD", NULL };

const char *const koda_floor_kernel_paths[] = { "/sys",       "/proc/sys",  "/proc/sysrq-trigger",
						"/proc/irq",  "/proc/bus",  "/proc/fs",
						"/proc/acpi", "/proc/scsi", NULL };

/* T-98. No tool that builds or tests something needs these. Each tells of the host's users,
 * processes, secrets or kernel, and costs a mount where its user may read it. What is left out on
 * purpose: hardware, which /sys describes anyway; files that are zeroes, or refused, without a
 * capability (iomem, ioports, kcore, kmsg); what programs look at (cpuinfo, meminfo, stat, loadavg,
 * uptime, version, filesystems, vmstat, diskstats, cgroups, sys). */
const char *const koda_floor_kernel_hidden[] = {
	"/proc/keys", /* the user's keys: numbers, owners, descriptions */
	"/proc/key-users",
	"/proc/cmdline",    /* boot options: disks, addresses, now and then a password */
	"/proc/interrupts", /* counters that follow each key pressed */
	"/proc/kallsyms",   /* where the kernel lies, if perf may be used: what an exploit needs */
	"/proc/modules",
	"/proc/slabinfo", /* how its memory is laid out; root's to read, as the next five */
	"/proc/vmallocinfo",
	"/proc/pagetypeinfo",
	"/proc/kpagecount",
	"/proc/kpageflags",
	"/proc/kpagecgroup",
	"/proc/timer_list", /* the host's processes by name */
	"/proc/timer_stats",
	"/proc/sched_debug",
	"/proc/latency_stats",
	"/sys/firmware",                  /* tables and variables of the firmware, serial numbers */
	"/sys/devices/virtual/powercap",  /* energy used, from which keys can be computed */
	"/sys/kernel/security/integrity", /* every program that the host has run */
	NULL
};

/* What may be mounted in /sys: the host's traces, programs of its kernel, its crashes. */
const char *const koda_floor_kernel_mounts[] = { "/sys/kernel/debug", "/sys/kernel/tracing",
						 "/sys/fs/bpf", "/sys/fs/pstore", NULL };

const char *const koda_floor_cache_dirs[] = { ".cargo/registry", ".cargo/git", ".npm/_cacache",
					      ".cache", NULL };

static bool is_listed(const char *const *list, const char *name)
{
	for (; *list; list++)
		if (strcmp(*list, name) == 0)
			return true;
	return false;
}

/* Sets path to the normal form of dir. */
static int begin(struct koda_buf *path, const char *dir, struct koda_error *err)
{
	/* An empty dir would join to a path below "/". */
	if (dir[0] != '/')
		return koda_fail_at(err, KODA_E_POLICY, 0, dir, "the path is not absolute");
	path->len = 0;
	return koda_path_normalise(koda_span_of(dir), path, err);
}

/* Marks name below the directory in path, and leaves path unchanged. */
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
		    enum koda_reason why, struct koda_error *err)
{
	koda_auto_buf struct koda_buf path = KODA_BUF_INIT(2 * KODA_PATH_MAX);
	int r = dir ? begin(&path, dir, err) : KODA_OK;

	for (; dir && *names && r == KODA_OK; names++)
		r = mark_below(index, &path, *names, 1U << why, err);
	return r;
}

static int mark_each(struct koda_pathindex *index, const char *const *dirs, enum koda_reason why,
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
			r = mark_below(index, &path, *name, 1U << KODA_REASON_GIT, err);
	if (r == KODA_OK)
		r = koda_pathindex_add(index, koda_buf_span(&path), KODA_FLOOR_REOPENED, err);
	if (r == KODA_OK)
		r = mark_below(index, &path, koda_floor_git_modules, KODA_FLOOR_CLOSED, err);
	return r;
}

static int mark_project(struct koda_pathindex *index, const struct koda_place *place,
			bool allow_git_config, struct koda_error *err)
{
	koda_auto_buf struct koda_buf git = KODA_BUF_INIT(2 * KODA_PATH_MAX);
	int r = mark_all(index, place->root, koda_floor_project_names, KODA_REASON_PROJECT_NAME,
			 err);

	if (r == KODA_OK && place->root) {
		r = koda_buf_addf(&git, "%s/.git", place->root);
		if (r < 0)
			return koda_fail_room(err, r, "the path");
		r = mark_git_dir(index, git.ptr, allow_git_config, err);
	}
	for (const char *const *dir = place->git_dirs; dir && *dir && r == KODA_OK; dir++)
		r = mark_git_dir(index, *dir, allow_git_config, err);
	if (r == KODA_OK)
		r = mark_each(index, place->git_files, KODA_REASON_GIT, err);
	if (r == KODA_OK)
		r = mark_each(index, place->missing_dirs, KODA_REASON_PROJECT_NAME, err);
	return r;
}

/* Credentials, our state and policies below one configuration directory. */
static int mark_config(struct koda_pathindex *index, const char *config_home,
		       struct koda_error *err)
{
	int r = mark_all(index, config_home, koda_floor_config_dirs, KODA_REASON_CREDENTIALS, err);

	if (r == KODA_OK)
		r = mark_all(index, config_home, koda_floor_hidden_config, KODA_REASON_OWN_STATE,
			     err);
	if (r == KODA_OK)
		r = mark_all(index, config_home, koda_floor_policy_dirs, KODA_REASON_OWN_POLICY,
			     err);
	return r;
}

static int mark_home(struct koda_pathindex *index, const struct koda_place *place,
		     struct koda_error *err)
{
	static const char *const state[] = { "koda", NULL };
	static const char *const default_state[] = { ".local/state/koda", NULL };
	koda_auto_buf struct koda_buf config = KODA_BUF_INIT(2 * KODA_PATH_MAX);
	int r = mark_all(index, place->home, koda_floor_home_dirs, KODA_REASON_CREDENTIALS, err);

	if (r == KODA_OK)
		r = mark_all(index, place->home, koda_floor_home_files, KODA_REASON_CREDENTIALS,
			     err);
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
		r = mark_all(index, place->home, default_state, KODA_REASON_OWN_STATE, err);
	if (r == KODA_OK)
		r = mark_all(index, place->state_home, state, KODA_REASON_OWN_STATE, err);
	if (r == KODA_OK)
		r = mark_all(index, place->runtime_dir, state, KODA_REASON_OWN_STATE, err);
	return r;
}

int koda_floor_add(struct koda_pathindex *index, const struct koda_place *place,
		   bool allow_git_config, struct koda_error *err)
{
	int r = mark_home(index, place, err);

	if (r == KODA_OK)
		r = mark_project(index, place, allow_git_config, err);
	if (r == KODA_OK)
		r = mark_each(index, place->readonly_aliases, KODA_REASON_OTHER_NAME, err);
	if (r == KODA_OK)
		r = mark_each(index, place->hidden, KODA_REASON_HIDDEN_NAME, err);
	if (r == KODA_OK)
		r = mark_each(index, place->exec_dirs, KODA_REASON_EXEC_DIR, err);
	if (r == KODA_OK)
		r = mark_each(index, koda_floor_kernel_paths, KODA_REASON_KERNEL, err);
	if (r == KODA_OK)
		r = mark_each(index, koda_floor_kernel_hidden, KODA_REASON_KERNEL_HIDDEN, err);
	if (r == KODA_OK)
		r = mark_each(index, koda_floor_kernel_mounts, KODA_REASON_KERNEL_HIDDEN, err);
	return r;
}

int koda_floor_open(struct koda_pathindex *index, const char *const *dirs, struct koda_error *err)
{
	return mark_each(index, dirs, KODA_REASON_GIT_DIR, err);
}

int koda_floor_add_caches(struct koda_pathindex *index, const struct koda_place *place,
			  struct koda_error *err)
{
	return mark_each(index, place->caches, KODA_REASON_CACHE, err);
}
