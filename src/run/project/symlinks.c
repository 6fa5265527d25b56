/* SPDX-License-Identifier: MIT */
/* T-12. A protected name (credential directory, project file, git hook directory) that is a
 * symbolic link protects only the link; its target can be reached directly. So every protected name
 * is followed, and its links and target are protected too. Nothing runs if a directory on the way
 * is closed, because an earlier command may have closed it. */
#include "run/project/symlinks.h"

#include "base/error.h"
#include "base/fd.h"
#include "base/path.h"
#include "policy/floor.h"
#include "run/project/git_close.h"
#include "run/project/hardlink.h"
#include "run/project/policy_links.h"
#include "run/project/site.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Tells whether name is a link. True also if lstat() fails: following it then reports why. *closed
 * is set for EACCES. shared (may be NULL) is set if the file has hard links. */
static bool is_link(int dir, const char *name, bool *shared, bool *closed)
{
	struct stat st;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
		if (shared && !*shared)
			*shared = koda_hardlink_is_shared(dir, name, &st);
		return S_ISLNK(st.st_mode);
	}
	*closed = *closed || errno == EACCES;
	return errno != ENOENT && errno != ENOTDIR && errno != EACCES;
}

/* Tells whether name below dir goes through a link. The path of dir itself is free of links. */
static bool has_link(int dir, const char *name, bool *shared, bool *closed)
{
	const char *slash = strchr(name, '/');
	char first[KODA_NAME_MAX + 1];
	struct stat st;

	if (!slash || (size_t)(slash - name) > KODA_NAME_MAX)
		return is_link(dir, name, shared, closed);
	memcpy(first, name, (size_t)(slash - name));
	first[slash - name] = '\0';
	/* Most of these names do not exist. */
	if (fstatat(dir, first, &st, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT)
		return false;
	return is_link(dir, name, shared, closed) || is_link(dir, first, NULL, closed);
}

/* Tells whether a component is longer than a file name can be. */
static bool is_impossible(const char *path)
{
	size_t len = 0;

	for (; *path && len <= KODA_NAME_MAX; path++)
		len = *path == '/' ? 0 : len + 1;
	return len > KODA_NAME_MAX;
}

/* Resolves path and appends its links; NULL if it can have no target as long as the links stay:
 * ELOOP, or a name that no file can have. */
static int follow(const char *path, char **ret_resolved, struct koda_strv *links,
		  struct koda_error *err)
{
	koda_auto_free char *resolved = NULL;
	struct koda_error why = { 0 };
	int r = koda_path_trace(path, &resolved, links, &why);

	*ret_resolved = NULL;
	if (r == KODA_E_SYS && why.sys_errno == ELOOP)
		return KODA_OK;
	if (r < 0 && why.sys_errno != EACCES) {
		if (err)
			*err = why;
		return r;
	}
	if (r < 0)
		return koda_fail_at(err, KODA_E_DENIED, 0, path,
				    "is a link, or behind one, that may not be followed (%s); "
				    "remove the link",
				    why.message);
	if (is_impossible(resolved))
		return KODA_OK;
	/* A closed directory may hide a further link. */
	r = koda_policy_links_check_seen(resolved, path, err);
	if (r == KODA_OK)
		*ret_resolved = KODA_TAKE(resolved);
	return r;
}

/* Tells whether link i occurs before i in the list: a loop. */
static bool has_before(const struct koda_strv *links, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (strcmp(links->items[k], links->items[i]) == 0)
			return true;
	return false;
}

static int add_aliases(struct koda_strv *list, const char *dir, const char *name,
		       struct koda_error *err)
{
	koda_auto_strv struct koda_strv links = KODA_STRV_INIT;
	koda_auto_free char *path = NULL;
	koda_auto_free char *resolved = NULL;
	int r = koda_path_join(dir, name, &path, err);

	if (r == KODA_OK)
		r = follow(path, &resolved, &links, err);
	if (r == KODA_OK && resolved)
		r = koda_strv_add(list, resolved, err);
	for (size_t i = 0; i < links.len && r == KODA_OK; i++)
		if (!has_before(&links, i))
			r = koda_strv_add(list, links.items[i], err);
	return r;
}

/* Follows one name below dir, whose resolved path is real and which is open as fd. */
static int note_name(struct koda_strv *list, const char *dir, const char *real, int fd,
		     const char *name, bool all, bool *shared, struct koda_error *err)
{
	koda_auto_free char *path = NULL;
	bool closed = false;
	int r = KODA_OK;

	if (has_link(fd, name, shared, &closed))
		return add_aliases(list, dir, name, err);
	if (closed)
		r = koda_policy_links_check_unseen_in(real, name, EACCES, err);
	if (r < 0 || (!all && strcmp(real, dir) == 0))
		return r;
	r = koda_path_join(real, name, &path, err);
	return r < 0 ? r : koda_strv_take(list, KODA_TAKE(path), err);
}

/* Tells whether the path has no "." or ".." and no empty component. */
static bool is_normal(const char *path)
{
	const char *last = strrchr(path, '/');

	return last && last[1] && strcmp(last, "/.") != 0 && strcmp(last, "/..") != 0 &&
	       !strstr(path, "/../") && !strstr(path, "/./") && !strstr(path, "//");
}

/* Opens the directory; fails if there is a link in its path. */
static int open_direct(const char *dir)
{
	struct open_how how = { .flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
				.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS };

	return (int)syscall(SYS_openat2, AT_FDCWD, dir, &how, sizeof(how));
}

/* Opens the target of dir; -1 if it does not exist. name: an entry, for the error. */
static int open_real(const char *dir, const char *name, char **ret_real, int *ret_fd,
		     struct koda_error *err)
{
	int r = koda_path_resolve(dir, ret_real, err);

	if (r == KODA_OK)
		r = koda_policy_links_check_seen(*ret_real, dir, err);
	if (r < 0)
		return r;
	*ret_fd = open(*ret_real, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return *ret_fd < 0 ? koda_policy_links_check_unseen_in(*ret_real, name, errno, err)
			   : KODA_OK;
}

/* Follows the names below dir that go through a link; all names if the rules do not protect them in
 * dir by themselves. */
static int note_names(struct koda_strv *list, const char *dir, const char *const *names, bool all,
		      bool *shared, struct koda_error *err)
{
	koda_auto_free char *real = NULL;
	koda_auto_fd int fd = -1;
	int r = KODA_OK;

	if (!dir)
		return KODA_OK;
	/* Most are directories without links in their path, or missing: one openat2() tells. */
	fd = is_normal(dir) ? open_direct(dir) : -1;
	if (fd < 0 && is_normal(dir) && errno == ENOENT)
		return KODA_OK;
	/* If dir itself is reached through a link, every name below it is an alias. */
	if (fd < 0)
		r = open_real(dir, *names, &real, &fd, err);
	for (; fd >= 0 && *names && r == KODA_OK; names++)
		r = note_name(list, dir, real ? real : dir, fd, *names, all, shared, err);
	return r;
}

static int note_config(struct koda_site *site, const char *config, bool all, struct koda_error *err)
{
	int r = note_names(&site->readonly_aliases, config, koda_floor_config_dirs, all, NULL, err);

	if (r == KODA_OK)
		r = note_names(&site->hidden, config, koda_floor_hidden_config, all, NULL, err);
	if (r == KODA_OK)
		r = note_names(&site->readonly_aliases, config, koda_floor_policy_dirs, all, NULL,
			       err);
	return r;
}

/* all: home is not the one that the rules protect. */
static int note_home(struct koda_site *site, const char *home, bool all, struct koda_error *err)
{
	static const char *const state[] = { "koda", NULL };
	koda_auto_free char *config = NULL;
	koda_auto_free char *local = NULL;
	int r;

	if (!home)
		return KODA_OK;
	r = note_names(&site->readonly_aliases, home, koda_floor_home_dirs, all, NULL, err);
	if (r == KODA_OK)
		r = note_names(&site->readonly_aliases, home, koda_floor_home_files, all,
			       &site->has_hardlinks, err);
	if (r == KODA_OK)
		r = koda_path_join(home, ".config", &config, err);
	if (r == KODA_OK)
		r = koda_path_join(home, ".local/state", &local, err);
	if (r == KODA_OK)
		r = note_config(site, config, all, err);
	if (r == KODA_OK)
		r = note_names(&site->hidden, local, state, all, NULL, err);
	return r;
}

/* Follows the names in a git directory, with the survey's budget: a command can create any number
 * of them. */
static int note_git(struct koda_site *site, const char *dir, bool *shared, struct koda_error *err)
{
	size_t before = site->readonly_aliases.len;
	int r = note_names(&site->readonly_aliases, dir, koda_floor_git_names, false, shared, err);

	if (r == KODA_OK)
		r = koda_survey_budget_take_entries(
			&site->budget, 1 + site->readonly_aliases.len - before, dir, err);
	for (size_t i = before; i < site->readonly_aliases.len && r == KODA_OK; i++)
		r = koda_survey_budget_take_bytes(&site->budget,
						  KODA_SURVEY_BUDGET_COPIES *
							  strlen(site->readonly_aliases.items[i]),
						  dir, err);
	return r;
}

int koda_symlinks_note(struct koda_site *site, struct koda_error *err)
{
	koda_auto_free char *git = NULL;
	bool elsewhere =
		site->home && site->passwd_home && strcmp(site->home, site->passwd_home) != 0;
	int r = note_home(site, site->home, false, err);

	if (r == KODA_OK && elsewhere)
		r = note_home(site, site->passwd_home, true, err);
	if (r == KODA_OK)
		r = note_config(site, site->config_home, false, err);
	if (r == KODA_OK)
		r = note_names(&site->readonly_aliases, site->root, koda_floor_project_names, false,
			       &site->has_hardlinks, err);
	if (r == KODA_OK)
		r = note_names(&site->readonly_aliases, site->root, koda_floor_inner_names, false,
			       &site->has_hardlinks, err);
	if (r == KODA_OK)
		r = koda_path_join(site->root, ".git", &git, err);
	if (r == KODA_OK)
		r = note_git(site, git, &site->has_hardlinks, err);
	for (size_t i = 0; i < site->git_dirs.len && r == KODA_OK; i++)
		if (strcmp(site->git_dirs.items[i], git) != 0)
			r = note_git(site, site->git_dirs.items[i], &site->has_hardlinks, err);
	/* For closed git directories git_close.c has checked hard links, and has noted for most
	 * that no name is a link. */
	for (size_t i = 0; i < site->git_closed.len && r == KODA_OK; i++)
		if (!(site->git_looks.ptr[i] & KODA_SITE_GIT_PLAIN))
			r = note_git(site, site->git_closed.items[i], NULL, err);
	return r;
}
