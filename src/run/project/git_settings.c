/* SPDX-License-Identifier: MIT */
/* T-44. Collects the settings that name programs and files. */
#include "run/project/git_settings.h"

#include "base/error.h"
#include "base/path.h"
#include "policy/policy.h"
#include "run/project/git_config.h"
#include "run/project/git_pointer.h"
#include "run/project/git_shell.h"
#include "run/project/survey_budget.h"

/* Begins the address of a repository that a command leads to. */
#define EXT "ext::"

struct chain {
	struct koda_git_settings *settings;
	struct koda_git_reader *reader;
	const char *first; /* the file that reading began with */
	const char *file;  /* the file that is read, links resolved */
	const char *dir;   /* directory of a link to it, resolved; NULL: it is no link */
};

/* Settings of programs that git starts by itself: to examine the work tree, to edit or show text,
 * to talk to a host; and of tools that people start through git. They count in any subsection;
 * without a name, every setting of the section counts. */
static const struct {
	const char *section;
	const char *name;
} commands[] = {
	{ "core", "fsmonitor" },
	{ "core", "sshcommand" },
	{ "core", "askpass" },
	{ "core", "editor" },
	{ "core", "pager" },
	{ "core", "gitproxy" },
	{ "core", "alternaterefscommand" },
	{ "pager", NULL },
	{ "hook", "command" },
	{ "filter", "clean" },
	{ "filter", "smudge" },
	{ "filter", "process" },
	{ "diff", "textconv" },
	{ "diff", "command" },
	{ "diff", "external" },
	{ "merge", "driver" },
	{ "credential", "helper" },
	{ "gpg", "program" },
	{ "gpg", "defaultkeycommand" },
	{ "trailer", "cmd" },
	{ "trailer", "command" },
	{ "submodule", "update" },
	{ "remote", "uploadpack" },
	{ "remote", "receivepack" },
	{ "uploadpack", "packobjectshook" },
	{ "gc", "recentobjectshook" },
	{ "tar", "command" },
	{ "mergetool", "cmd" },
	{ "mergetool", "path" },
	{ "difftool", "cmd" },
	{ "difftool", "path" },
	{ "guitool", "cmd" },
	{ "browser", "cmd" },
	{ "browser", "path" },
	{ "man", "cmd" },
	{ "man", "path" },
	{ "instaweb", "httpd" },
	{ "imap", "tunnel" },
	{ "sendemail", "smtpserver" },
	{ "sendemail", "sendmailcmd" },
	{ "sendemail", "tocmd" },
	{ "sendemail", "cccmd" },
	{ "sendemail", "headercmd" },
	{ "lfs", "path" },
	{ "lfs", "clean" },
	{ "lfs", "smudge" },
	{ "sequence", "editor" },
	{ "interactive", "difffilter" },
};

/* Returns rest of "~/rest", or of "~user/rest" if the home directory has that name; NULL for
 * another home. */
static const char *below_home(const char *value, const char *home)
{
	const char *slash = strchr(value, '/');
	const char *name = home ? strrchr(home, '/') : NULL;
	size_t len = slash ? (size_t)(slash - value) - 1 : 0;

	if (!slash || !home)
		return NULL;
	if (len > 0 && (!name || strlen(name + 1) != len || memcmp(name + 1, value + 1, len) != 0))
		return NULL;
	return slash + 1;
}

int koda_git_settings_path(const char *value, const char *dir, const char *home, char **ret_path,
			   struct koda_error *err)
{
	const char *rest = value[0] == '~' ? below_home(value, home) : NULL;
	int r;

	*ret_path = NULL;
	if (value[0] == '\0' || (value[0] == '~' && !rest) || value[0] == '%')
		return KODA_OK; /* of another user, or %(prefix) of git's installation */
	if (value[0] == '/') {
		*ret_path = strdup(value);
		return *ret_path ? KODA_OK : koda_fail_nomem(err);
	}
	r = rest ? koda_path_join(home, rest, ret_path, err)
		 : koda_path_join(dir, value, ret_path, err);
	return r == KODA_E_LIMIT ? KODA_OK : r; /* no file has such a name */
}

static bool is_command(const struct koda_git_setting *setting)
{
	for (size_t i = 0; i < KODA_ARRAY_LEN(commands); i++) {
		const char *name = commands[i].name ? commands[i].name : setting->name;

		if (koda_git_config_key_is(setting, commands[i].section, name))
			return true;
	}
	return false;
}

/* The address of a remote repository may be a command. */
static bool is_ext_url(const struct koda_git_setting *setting)
{
	return strncmp(setting->value, EXT, strlen(EXT)) == 0 &&
	       (koda_git_config_key_is(setting, "remote", "url") ||
		koda_git_config_key_is(setting, "remote", "pushurl") ||
		koda_git_config_key_is(setting, "submodule", "url"));
}

static int fail_too_many(const struct chain *chain, struct koda_error *err)
{
	return koda_fail_at(err, KODA_E_LIMIT, 0, chain->first,
			    "git's configuration names too many files and programs, more than %zu; "
			    "remove some, or the repository",
			    KODA_GIT_SETTINGS_MAX);
}

static int add(const struct chain *chain, struct koda_set *set, const char *value,
	       struct koda_error *err)
{
	const struct koda_git_settings *settings = chain->settings;
	struct koda_survey_budget *budget = chain->reader->budget;
	int r = budget ? koda_survey_budget_take_entries(budget, 1, chain->first, err) : KODA_OK;

	if (r < 0)
		return r;
	r = koda_set_add(set, koda_span_of(value), NULL);
	if (r == KODA_E_NOMEM)
		return koda_fail_nomem(err);
	if (r < 0 || settings->hooks.count + settings->files.count + settings->commands.count >
			     KODA_GIT_SETTINGS_MAX)
		return fail_too_many(chain, err);
	return r;
}

/* Tells whether a word of an alias runs a script. */
static bool runs_script(const char *value)
{
	char word[16];

	while (*value) {
		size_t len = strcspn(value, " \t\n;&|()\"'`!");

		if (len > 0 && len < sizeof(word)) {
			memcpy(word, value, len);
			word[len] = '\0';
			if (koda_git_shell_kind_of(word) >= KODA_GIT_SHELL_SHELL &&
			    koda_git_shell_kind_of(word) != KODA_GIT_SHELL_CD)
				return true;
		}
		value += len + (value[len] != '\0');
	}
	return false;
}

/* A "!" means a shell command. Only aliases keep it: without it an alias is a command of git. */
static int add_command(const struct chain *chain, const struct koda_git_setting *setting,
		       struct koda_error *err)
{
	const char *value = setting->value;
	bool is_alias = strcmp(setting->section, "alias") == 0;

	if (is_ext_url(setting))
		value += strlen(EXT);
	else if (is_alias ? value[0] != '!' : !is_command(setting))
		return KODA_OK;
	value += !is_alias && value[0] == '!';
	/* A single word without a slash is searched for in PATH. */
	return strpbrk(value, is_alias ? "/." : "/. \t") || (is_alias && runs_script(value))
		       ? add(chain, &chain->settings->commands, value, err)
		       : KODA_OK;
}

static int include_from(struct chain *chain, const char *dir, const char *value,
			struct koda_error *err)
{
	koda_auto_free char *path = NULL;
	int r = koda_git_settings_path(value, dir, chain->reader->home, &path, err);

	if (r < 0 || !path ||
	    koda_set_find(&chain->settings->sources, koda_span_of(path)) != KODA_SET_NONE)
		return r;
	if (chain->reader->includes == 0)
		return koda_fail_at(
			err, KODA_E_LIMIT, 0, chain->first,
			"git's configuration includes too many files; remove some, or the "
			"repository");
	chain->reader->includes--;
	return add(chain, &chain->settings->sources, path, err);
}

/* Git resolves a relative path from the directory of the path that it opened, not from the target
 * of a link. Both are read, because one file too many does no harm. */
static int include(struct chain *chain, const char *value, struct koda_error *err)
{
	koda_auto_free char *dir = koda_git_pointer_parent(chain->file);
	int r;

	if (!dir)
		return koda_fail_nomem(err);
	r = include_from(chain, dir, value, err);
	if (r == KODA_OK && chain->dir && strcmp(chain->dir, dir) != 0)
		r = include_from(chain, chain->dir, value, err);
	return r;
}

static int see(void *ctx, const struct koda_git_setting *setting, struct koda_error *err)
{
	struct chain *chain = ctx;
	struct koda_git_settings *settings = chain->settings;

	if (koda_git_config_key_is(setting, "include", "path") ||
	    koda_git_config_key_is(setting, "includeif", "path"))
		return include(chain, setting->value, err);
	if (koda_git_config_key_is(setting, "core", "hookspath"))
		return add(chain, &settings->hooks, setting->value, err);
	/* Files of a template, hooks too, are copied into new repositories. */
	if (koda_git_config_key_is(setting, "core", "attributesfile") ||
	    koda_git_config_key_is(setting, "init", "templatedir"))
		return add(chain, &settings->files, setting->value, err);
	if (koda_git_config_key_is(setting, "core", "worktree")) {
		free(settings->worktree);
		settings->worktree = strdup(setting->value);
		return settings->worktree ? KODA_OK : koda_fail_nomem(err);
	}
	return add_command(chain, setting, err);
}

/* Tells whether the policy hides the path: a command could write an include to have it read here.
 * */
static bool is_hidden(const struct koda_policy *policy, const char *path)
{
	for (size_t i = 0; i < koda_policy_count(policy, KODA_LIST_DENY_READ); i++)
		if (koda_path_covers(koda_policy_get(policy, KODA_LIST_DENY_READ, i),
				     koda_span_of(path)))
			return true;
	return false;
}

/* Tells whether the path has no "." or ".." and no empty component. */
static bool is_normal(const char *path)
{
	return !strstr(path, "/../") && !strstr(path, "/./") && !strstr(path, "//");
}

/* Reads the target of a link, or of a path with "..". */
static int read_linked(struct chain *chain, const char *path, bool included, struct koda_error *err)
{
	koda_auto_free char *above = koda_git_pointer_parent(path);
	koda_auto_free char *real = NULL;
	koda_auto_free char *dir = NULL;
	int r = above ? koda_git_pointer_trace(path, &real, NULL, err) : koda_fail_nomem(err);

	if (r < 0 || !real || (included && is_hidden(chain->reader->policy, real)))
		return r;
	r = koda_git_pointer_trace(above, &dir, NULL, err);
	if (r < 0)
		return r;
	chain->file = real;
	chain->dir = dir;
	r = koda_git_config_read(real, see, chain, NULL, chain->reader->budget, err);
	chain->dir = NULL;
	return r;
}

/* Reads a file or the target of a link. Most are no links, which one call tells. */
static int read_file(struct chain *chain, const char *path, bool included, struct koda_error *err)
{
	bool is_link = !is_normal(path);
	int r = KODA_OK;

	if (included && is_hidden(chain->reader->policy, path))
		return KODA_OK;
	chain->file = path;
	if (!is_link)
		r = koda_git_config_read(path, see, chain, &is_link, chain->reader->budget, err);
	if (r < 0 || !is_link)
		return r;
	chain->settings->linked = true;
	return read_linked(chain, path, included, err);
}

/* Errors about an included file do not quote the configuration, which a command may have written.
 * */
static int read_included(struct chain *chain, const char *path, struct koda_error *err)
{
	struct koda_error inner = { 0 };
	int r = read_file(chain, path, true, &inner);

	if (r == KODA_E_LIMIT)
		return koda_fail_at(err, r, 0, chain->first, "%s", inner.message);
	return r < 0 ? koda_git_pointer_fail(chain->first, &inner, err) : r;
}

int koda_git_settings_read(struct koda_git_settings *settings, const char *file,
			   struct koda_git_reader *reader, struct koda_error *err)
{
	struct chain chain = { .settings = settings, .reader = reader, .first = file };
	int r = koda_set_add(&settings->sources, koda_span_of(file), NULL);
	size_t next = settings->sources.count;

	if (r < 0)
		return r == KODA_E_NOMEM ? koda_fail_nomem(err) : fail_too_many(&chain, err);
	r = read_file(&chain, file, false, err);
	/* The set grows while files are included, and its memory may move. */
	for (; next < settings->sources.count && r == KODA_OK; next++) {
		koda_auto_free char *path = strdup(koda_set_get(&settings->sources, next).ptr);

		r = path ? read_included(&chain, path, err) : koda_fail_nomem(err);
	}
	return r;
}

int koda_git_settings_read_own(struct koda_git_settings *settings, const char *config_home,
			       const char *named, struct koda_git_reader *reader,
			       struct koda_error *err)
{
	const char *const places[][2] = {
		{ "/etc", "gitconfig" },
		{ config_home ? config_home : reader->home,
		  config_home ? "git/config" : ".config/git/config" },
		{ reader->home, ".gitconfig" },
	};
	int r = named ? koda_git_settings_read(settings, named, reader, err) : KODA_OK;

	for (size_t i = 0; i < KODA_ARRAY_LEN(places) && r == KODA_OK; i++) {
		koda_auto_free char *file = NULL;

		if (!places[i][0])
			continue;
		r = koda_path_join(places[i][0], places[i][1], &file, err);
		if (r == KODA_OK)
			r = koda_git_settings_read(settings, file, reader, err);
	}
	return r;
}

bool koda_git_settings_has_any(const struct koda_git_settings *settings)
{
	return settings->hooks.count + settings->files.count + settings->commands.count > 0;
}

void koda_git_settings_clear(struct koda_git_settings *settings)
{
	koda_set_clear(&settings->hooks);
	koda_set_clear(&settings->files);
	koda_set_clear(&settings->commands);
	koda_set_clear(&settings->sources);
	free(KODA_TAKE(settings->worktree));
}
