/* SPDX-License-Identifier: MIT */
#include "run/project/site.h"

#include "base/error.h"
#include "base/fd.h"
#include "base/path.h"
#include "policy/floor.h"
#include "policy/root.h"
#include "run/project/git_dir.h"
#include "wire/placeholder.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static int add_once(struct koda_strv *list, const char *item, struct koda_error *err)
{
	return koda_strv_has(list, item) ? KODA_OK : koda_strv_add(list, item, err);
}

int koda_site_check_dir(const struct koda_site *site, const char *dir, struct koda_error *err)
{
	struct koda_place place = koda_site_place(site);
	int r;

	place.root = dir;
	r = koda_root_check(&place, err);
	if (r < 0 || !site->passwd_home)
		return r;
	place.home = site->passwd_home;
	return koda_root_check(&place, err);
}

void koda_site_clear(struct koda_site *site)
{
	free(site->root);
	free(site->home);
	free(site->passwd_home);
	free(site->config_home);
	free(site->state_home);
	free(site->runtime_dir);
	free(site->git_config);
	koda_strv_clear(&site->exec_dirs);
	koda_strv_clear(&site->git_dirs);
	koda_strv_clear(&site->git_files);
	koda_strv_clear(&site->missing_dirs);
	koda_strv_clear(&site->readonly_aliases);
	koda_strv_clear(&site->hidden);
	koda_strv_clear(&site->own_git_dirs);
	koda_strv_clear(&site->git_closed);
	koda_buf_clear(&site->git_looks);
	koda_dir_snapshot_clear(&site->dirs);
	koda_strv_clear(&site->caches);
	*site = (struct koda_site)KODA_SITE_INIT;
}

struct koda_place koda_site_place(const struct koda_site *site)
{
	return (struct koda_place){
		.size = sizeof(struct koda_place),
		.root = site->root,
		.home = site->home,
		.config_home = site->config_home,
		.state_home = site->state_home,
		.runtime_dir = site->runtime_dir,
		.exec_dirs = (const char *const *)site->exec_dirs.items,
		.git_dirs = (const char *const *)site->git_dirs.items,
		.git_files = (const char *const *)site->git_files.items,
		.missing_dirs = (const char *const *)site->missing_dirs.items,
		.readonly_aliases = (const char *const *)site->readonly_aliases.items,
		.hidden = (const char *const *)site->hidden.items,
		.own_git_dirs = (const char *const *)site->own_git_dirs.items,
		.caches = (const char *const *)site->caches.items,
	};
}

/* A directory above that cannot be examined is closed to a command as well. */
static bool is_out_of_reach(int error)
{
	return error == ENOENT || error == ENOTDIR || error == ENAMETOOLONG || error == EACCES;
}

/* Tells whether the directory itself is a git directory. */
static int look_above(const char *dir, struct koda_error *err)
{
	koda_auto_fd int fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int is = KODA_GIT_DIR_NO;

	if (fd >= 0)
		is = koda_git_dir_is_at(fd, err);
	else if (!is_out_of_reach(errno))
		is = koda_fail(err, KODA_E_SYS, errno, "cannot look for repositories");
	if (fd >= 0 && is == KODA_GIT_DIR_NO)
		is = koda_git_dir_is_worktree_at(fd, err);
	if (fd >= 0 && is == KODA_GIT_DIR_NO)
		is = koda_git_dir_is_configured_at(fd, err);
	if (is < 0)
		koda_error_within(err, dir);
	return is;
}

/* Examines one directory on the way: a git directory, a work tree, or neither. */
static int note_git(struct koda_site *site, const char *dir, struct koda_error *err)
{
	koda_auto_free char *dot_git = NULL;
	struct stat st;
	int r = look_above(dir, err);

	if (r == KODA_GIT_DIR_YES)
		r = add_once(&site->git_dirs, dir, err);
	if (r >= 0)
		r = koda_path_join(dir, ".git", &dot_git, err);
	if (r < 0)
		return r;
	if (lstat(dot_git, &st) < 0)
		return is_out_of_reach(errno) ? KODA_OK
					      : koda_fail_at(err, KODA_E_SYS, errno, dot_git,
							     "cannot look for repositories");
	if (S_ISDIR(st.st_mode))
		return add_once(&site->git_dirs, dot_git, err);
	return add_once(&site->git_files, dot_git, err);
}

/* For each name with a slash, notes its first directory if that is missing below dir. */
static int note_absent_below(struct koda_site *site, const char *dir, const char *const *names,
			     struct koda_error *err)
{
	int r = KODA_OK;

	for (; *names && r == KODA_OK; names++) {
		const char *slash = strchr(*names, '/');
		koda_auto_free char *name =
			slash ? strndup(*names, (size_t)(slash - *names)) : NULL;
		koda_auto_free char *path = NULL;
		struct stat st;

		if (!slash)
			continue;
		if (!name)
			return koda_fail_nomem(err);
		r = koda_path_join(dir, name, &path, err);
		if (r == KODA_OK && koda_placeholder_is_vacant(path, &st))
			r = add_once(&site->missing_dirs, path, err);
	}
	return r;
}

int koda_site_note_missing_dirs(struct koda_site *site, struct koda_error *err)
{
	koda_auto_free char *git = NULL;
	struct stat st;
	int r = note_absent_below(site, site->root, koda_floor_project_names, err);

	if (r == KODA_OK)
		r = koda_path_join(site->root, ".git", &git, err);
	if (r == KODA_OK && koda_placeholder_is_vacant(git, &st))
		r = add_once(&site->missing_dirs, git, err);
	else if (r == KODA_OK && S_ISDIR(st.st_mode))
		r = note_absent_below(site, git, koda_floor_git_names, err);
	for (size_t i = 0; i < site->git_dirs.len && r == KODA_OK; i++)
		r = note_absent_below(site, site->git_dirs.items[i], koda_floor_git_names, err);
	return r;
}

int koda_site_note_git_above(struct koda_site *site, const char *path, struct koda_error *err)
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
		r = koda_site_note_git_above(site, resolved, err);
	if (r < 0)
		return r;
	*ret_lexical = KODA_TAKE(lexical);
	*ret_resolved = KODA_TAKE(resolved);
	return KODA_OK;
}
