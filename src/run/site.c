/* SPDX-License-Identifier: MIT */
#include "run/site.h"

#include "base/diag.h"
#include "base/fd.h"
#include "base/path.h"
#include "policy/root.h"

#include <errno.h>
#include <fcntl.h>
#include <koda/policy.h>
#include <sys/stat.h>
#include <unistd.h>

/* The value of name in environ, or NULL if it is unset, empty or no absolute path: the XDG rules
 * say to ignore relative ones, and a relative HOME or PATH entry means nothing here. */
static const char *absolute_value(const char *const *environ_, const char *name)
{
	size_t len = strlen(name);

	for (; environ_ && *environ_; environ_++)
		if (strncmp(*environ_, name, len) == 0 && (*environ_)[len] == '=')
			return (*environ_)[len + 1] == '/' ? *environ_ + len + 1 : NULL;
	return NULL;
}

/* Keeps where the variable's directory really is; unset stays NULL. */
static int load_dir(const char *const *environ_, const char *name, char **ret_dir,
		    struct koda_error *err)
{
	const char *value = absolute_value(environ_, name);
	int r;

	if (!value)
		return KODA_OK;
	r = koda_path_resolve(value, ret_dir, err);
	if (r < 0)
		koda_error_prefix(err, "%s: ", name);
	return r;
}

static int add_once(struct koda_strv *list, const char *item, struct koda_error *err)
{
	return koda_strv_has(list, item) ? KODA_OK : koda_strv_add(list, item, err);
}

/* Adds a directory as spelt, every link on the way to it, and where that leads: whoever changes
 * one of them changes what is found there. */
static int add_with_links(struct koda_strv *list, const char *path, struct koda_error *err)
{
	koda_auto_strv struct koda_strv links = KODA_STRV_INIT;
	koda_auto_free char *lexical = NULL;
	koda_auto_free char *resolved = NULL;
	int r = koda_path_absolute(path, &lexical, err);

	if (r == KODA_OK)
		r = add_once(list, lexical, err);
	if (r == KODA_OK)
		r = koda_path_trace(path, &resolved, &links, err);
	if (r == KODA_OK)
		r = add_once(list, resolved, err);
	for (size_t i = 0; i < links.len && r == KODA_OK; i++)
		r = add_once(list, links.items[i], err);
	return r;
}

/* T-05 a directory where the host finds its programs: the absolute entries of PATH. */
static int load_exec_dirs(struct koda_site *site, const char *const *environ_,
			  struct koda_error *err)
{
	const char *rest = absolute_value(environ_, "PATH");
	size_t name_len = strlen("PATH=");
	int r = KODA_OK;

	/* absolute_value gives nothing when the first entry is relative; look at the raw text. */
	for (; !rest && environ_ && *environ_; environ_++)
		if (strncmp(*environ_, "PATH=", name_len) == 0)
			rest = *environ_ + name_len;
	while (rest && *rest && r == KODA_OK) {
		size_t len = strcspn(rest, ":");

		if (rest[0] == '/') {
			koda_auto_free char *dir = strndup(rest, len);

			r = dir ? add_with_links(&site->exec_dirs, dir, err) : koda_fail_nomem(err);
		}
		rest += len;
		rest += *rest == ':';
	}
	return r;
}

int koda_site_load(struct koda_site *site, const char *root, const char *const *environ_,
		   struct koda_error *err)
{
	struct koda_place place;
	int r = koda_path_resolve(root ? root : ".", &site->root, err);

	if (r == KODA_OK)
		r = load_dir(environ_, "HOME", &site->home, err);
	if (r == KODA_OK)
		r = load_dir(environ_, "XDG_CONFIG_HOME", &site->config_home, err);
	if (r == KODA_OK)
		r = load_dir(environ_, "XDG_STATE_HOME", &site->state_home, err);
	if (r == KODA_OK)
		r = load_dir(environ_, "XDG_RUNTIME_DIR", &site->runtime_dir, err);
	if (r == KODA_OK)
		r = load_exec_dirs(site, environ_, err);
	if (r < 0)
		return r;
	place = koda_site_place(site);
	return koda_root_check(&place, err);
}

void koda_site_clear(struct koda_site *site)
{
	free(site->root);
	free(site->home);
	free(site->config_home);
	free(site->state_home);
	free(site->runtime_dir);
	koda_strv_clear(&site->exec_dirs);
	koda_strv_clear(&site->git_dirs);
	koda_strv_clear(&site->git_files);
	*site = (struct koda_site)KODA_SITE_INIT;
}

struct koda_place koda_site_place(const struct koda_site *site)
{
	return (struct koda_place){
		.root = site->root,
		.home = site->home,
		.config_home = site->config_home,
		.state_home = site->state_home,
		.runtime_dir = site->runtime_dir,
		.exec_dirs = (const char *const *)site->exec_dirs.items,
		.git_dirs = (const char *const *)site->git_dirs.items,
		.git_files = (const char *const *)site->git_files.items,
	};
}

/* A directory is a git directory if it has what git itself looks for. */
static bool is_git_dir(const char *dir)
{
	static const char *const parts[] = { "HEAD", "objects", "refs" };
	koda_auto_fd int fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct stat st;

	for (size_t i = 0; fd >= 0 && i < KODA_ARRAY_LEN(parts); i++)
		if (fstatat(fd, parts[i], &st, AT_SYMLINK_NOFOLLOW) < 0)
			return false;
	return fd >= 0;
}

/* Worktrees keep HEAD and commondir, but no objects of their own. */
static bool is_worktree_dir(const char *dir)
{
	koda_auto_fd int fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct stat st;

	return fd >= 0 && fstatat(fd, "HEAD", &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       fstatat(fd, "commondir", &st, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Looks at one directory on the way: is it a repository, a work tree with a pointer, or neither? */
static int note_git(struct koda_site *site, const char *dir, struct koda_error *err)
{
	koda_auto_free char *dot_git = NULL;
	struct stat st;
	int r = koda_path_join(dir, ".git", &dot_git, err);

	if (r < 0)
		return r;
	if (is_git_dir(dir) || is_worktree_dir(dir))
		r = add_once(&site->git_dirs, dir, err);
	if (r < 0 || lstat(dot_git, &st) < 0)
		return r;
	if (S_ISDIR(st.st_mode))
		return add_once(&site->git_dirs, dot_git, err);
	return add_once(&site->git_files, dot_git, err);
}

/* Every directory from the root of the file system down to path. */
static int note_git_above(struct koda_site *site, const char *path, struct koda_error *err)
{
	struct koda_span rest = koda_span_of(path);
	struct koda_span name;
	int r = KODA_OK;

	while (r == KODA_OK && koda_path_next(&rest, &name) == KODA_STEP_NAME) {
		koda_auto_free char *dir = strndup(path, (size_t)(rest.ptr - path));

		r = dir ? note_git(site, dir, err) : koda_fail_nomem(err);
	}
	return r;
}

int koda_site_see(struct koda_site *site, const char *target, char **ret_lexical,
		  char **ret_resolved, struct koda_error *err)
{
	koda_auto_free char *lexical = NULL;
	koda_auto_free char *resolved = NULL;
	int r = koda_path_absolute(target, &lexical, err);

	if (r == KODA_OK)
		r = koda_path_resolve(target, &resolved, err);
	if (r == KODA_OK)
		r = note_git_above(site, resolved, err);
	if (r < 0)
		return r;
	*ret_lexical = KODA_TAKE(lexical);
	*ret_resolved = KODA_TAKE(resolved);
	return KODA_OK;
}

/* Is path inside one of the directories? */
static bool is_inside(const struct koda_strv *dirs, const char *path)
{
	for (size_t i = 0; i < dirs->len; i++)
		if (koda_path_covers(koda_span_of(dirs->items[i]), koda_span_of(path)))
			return true;
	return false;
}

/* Where the command may write, as the kernel will see it: links resolved. */
static int load_writable(const struct koda_policy *policy, struct koda_strv *dirs,
			 struct koda_error *err)
{
	int r = KODA_OK;

	for (size_t i = 0; i < koda_policy_count(policy, KODA_LIST_ALLOW_WRITE) && r == KODA_OK;
	     i++) {
		char *resolved = NULL;

		r = koda_path_resolve(koda_policy_get(policy, KODA_LIST_ALLOW_WRITE, i).ptr,
				      &resolved, err);
		if (r == KODA_OK)
			r = koda_strv_take(dirs, resolved, err);
	}
	return r;
}

/* T-06 where path leads, and whether a link on the way lies where the command may write. */
static int resolve_entry(const struct koda_strv *writable, const char *path, char **ret_resolved,
			 bool *ret_planted, struct koda_error *err)
{
	koda_auto_strv struct koda_strv links = KODA_STRV_INIT;
	int r = koda_path_trace(path, ret_resolved, &links, err);

	*ret_planted = false;
	for (size_t i = 0; i < links.len; i++)
		*ret_planted = *ret_planted || is_inside(writable, links.items[i]);
	return r;
}

static int resolve_list(struct koda_policy *policy, enum koda_list list,
			const struct koda_strv *writable, struct koda_error *err)
{
	bool allows = list == KODA_LIST_ALLOW_WRITE || list == KODA_LIST_ALLOW_READ_WITHIN_DENY;
	size_t count = koda_policy_count(policy, list);
	int r = KODA_OK;

	for (size_t i = 0; i < count && r == KODA_OK; i++) {
		koda_auto_free char *resolved = NULL;
		bool planted = false;

		r = resolve_entry(writable, koda_policy_get(policy, list, i).ptr, &resolved,
				  &planted, err);
		if (r == KODA_OK && !(allows && planted))
			r = koda_policy_add(policy, list, resolved, strlen(resolved), err);
	}
	return r;
}

int koda_site_resolve_policy(struct koda_policy *policy, struct koda_error *err)
{
	koda_auto_strv struct koda_strv writable = KODA_STRV_INIT;
	int r = load_writable(policy, &writable, err);

	for (int list = KODA_LIST_DENY_READ; list <= KODA_LIST_DENY_WRITE_WITHIN_ALLOW; list++)
		if (r == KODA_OK)
			r = resolve_list(policy, (enum koda_list)list, &writable, err);
	return r;
}
