/* SPDX-License-Identifier: MIT */
/*
 * T-12 the floor by other names. A credential directory, a project name or a git hook directory
 * that is a symbolic link is protected by its name alone only in spelling: what it leads to can be
 * reached directly. So every floor name that goes through a link is followed, and the links and the
 * target join the floor. Nothing runs if that cannot be told, because a directory on the way is
 * closed: an earlier command may have done so.
 */
#include "run/site.h"

#include "base/diag.h"
#include "base/fd.h"
#include "base/path.h"
#include "policy/floor.h"
#include "run/hardlink.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* What cannot be told for a reason of its own is followed, which says the reason; closed is set if
 * it is that it may not be seen. shared (may be NULL) is set if what is there has further names. */
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

/* Does name below the directory go through a link? The directory itself is free of links. */
static bool has_link(int dir, const char *name, bool *shared, bool *closed)
{
	const char *slash = strchr(name, '/');
	char first[KODA_NAME_MAX + 1];

	if (is_link(dir, name, shared, closed))
		return true;
	if (!slash || (size_t)(slash - name) > KODA_NAME_MAX)
		return false;
	memcpy(first, name, (size_t)(slash - name));
	first[slash - name] = '\0';
	return is_link(dir, first, NULL, closed);
}

/* Has it a name that no file can have? */
static bool is_impossible(const char *path)
{
	size_t len = 0;

	for (; *path && len <= KODA_NAME_MAX; path++)
		len = *path == '/' ? 0 : len + 1;
	return len > KODA_NAME_MAX;
}

/* Where the links of path lead; NULL if nowhere, whatever anybody makes, as long as the links stay:
 * they are more than the kernel follows, or lead to a name that no file can have. */
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
	/* A link in a closed directory would lead on. */
	r = koda_site_check_seen(resolved, path, err);
	if (r == KODA_OK)
		*ret_resolved = KODA_TAKE(resolved);
	return r;
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
		if (!koda_strv_has(list, links.items[i])) /* a loop has the same again */
			r = koda_strv_add(list, links.items[i], err);
	return r;
}

/* One name below dir, which really is at real, and open as fd. */
static int note_name(struct koda_strv *list, const char *dir, const char *real, int fd,
		     const char *name, bool all, bool *shared, struct koda_error *err)
{
	koda_auto_free char *path = NULL;
	bool closed = false;
	int r = KODA_OK;

	if (has_link(fd, name, shared, &closed))
		return add_aliases(list, dir, name, err);
	if (closed)
		r = koda_site_check_unseen_in(real, name, EACCES, err);
	if (r < 0 || (!all && strcmp(real, dir) == 0))
		return r;
	r = koda_path_join(real, name, &path, err);
	return r < 0 ? r : koda_strv_take(list, KODA_TAKE(path), err);
}

/* Follows those of the names below dir that go through a link; all of them if dir is no directory
 * that the floor knows by itself. */
static int note_names(struct koda_strv *list, const char *dir, const char *const *names, bool all,
		      bool *shared, struct koda_error *err)
{
	koda_auto_free char *real = NULL;
	koda_auto_fd int fd = -1;
	int r = KODA_OK;

	if (!dir)
		return KODA_OK;
	/* A directory that is itself reached through a link makes every name below an alias. */
	r = koda_path_resolve(dir, &real, err);
	if (r == KODA_OK)
		r = koda_site_check_seen(real, dir, err);
	if (r < 0)
		return r;
	fd = open(real, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return koda_site_check_unseen_in(real, *names, errno, err);
	for (; *names && r == KODA_OK; names++)
		r = note_name(list, dir, real, fd, *names, all, shared, err);
	return r;
}

static int note_config(struct koda_site *site, const char *config, bool all, struct koda_error *err)
{
	int r = note_names(&site->guarded, config, koda_floor_config_dirs, all, NULL, err);

	if (r == KODA_OK)
		r = note_names(&site->hidden, config, koda_floor_hidden_config, all, NULL, err);
	return r;
}

/* all: this is not the home that the floor goes by. */
static int note_home(struct koda_site *site, const char *home, bool all, struct koda_error *err)
{
	static const char *const state[] = { "koda", NULL };
	koda_auto_free char *config = NULL;
	koda_auto_free char *local = NULL;
	int r;

	if (!home)
		return KODA_OK;
	r = note_names(&site->guarded, home, koda_floor_home_dirs, all, NULL, err);
	if (r == KODA_OK)
		r = note_names(&site->guarded, home, koda_floor_home_files, all, &site->shared,
			       err);
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

int koda_site_note_aliases(struct koda_site *site, struct koda_error *err)
{
	koda_auto_free char *git = NULL;
	bool elsewhere =
		site->home && site->table_home && strcmp(site->home, site->table_home) != 0;
	int r = note_home(site, site->home, false, err);

	if (r == KODA_OK && elsewhere)
		r = note_home(site, site->table_home, true, err);
	if (r == KODA_OK)
		r = note_config(site, site->config_home, false, err);
	if (r == KODA_OK)
		r = note_names(&site->guarded, site->root, koda_floor_project_names, false,
			       &site->shared, err);
	if (r == KODA_OK)
		r = koda_path_join(site->root, ".git", &git, err);
	if (r == KODA_OK)
		r = note_names(&site->guarded, git, koda_floor_git_names, false, &site->shared,
			       err);
	for (size_t i = 0; i < site->git_dirs.len && r == KODA_OK; i++)
		if (strcmp(site->git_dirs.items[i], git) != 0)
			r = note_names(&site->guarded, site->git_dirs.items[i],
				       koda_floor_git_names, false, &site->shared, err);
	return r;
}
